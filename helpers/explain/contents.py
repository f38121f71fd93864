"""What is in a value of the student's: the tensors of a network, an optimizer, a list or a dict."""

from __future__ import annotations

import ast
from collections import UserDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import nn

from helpers.explain.device_names import with_index
from helpers.explain.source import Site

_MANY = 50  # elements of a list that are looked at


@dataclass(frozen=True)
class Operand:
    """One thing on one device, called as the student's line calls it.

    `node` is the expression in the line that it came from, and `holder` the network, optimizer,
    list or dict that it was found in. `made` says that the line itself makes it, `moved` that
    the line moves it there, `index` that it picks elements of another, `derived` that the line
    computes with it first, `distant` that what comes of that is not known. `inner` is what a
    network's result was computed from. What the student's own functions return has no `device`,
    as long as nobody can tell.
    """

    text: str
    device: torch.device | None
    node: ast.AST
    value: Any = None
    holder: Any = None
    made: bool = False
    moved: bool = False
    index: bool = False
    derived: bool = False
    distant: bool = False
    inner: tuple[Operand, ...] = ()

    @property
    def scalar(self) -> bool:
        """Whether it is a single number, which torch takes from the CPU without a word."""
        return isinstance(self.value, torch.Tensor) and self.value.dim() == 0


def expand(
    site: Site, text: str, value: Any, node: ast.AST, holder: Any = None, depth: int = 0
) -> Iterator[Operand]:
    """List the tensors and generators in `value`, each with its name as `text` leads to it."""
    if isinstance(value, torch.Tensor | torch.Generator):
        yield Operand(text, with_index(value.device), node, value, holder)
    elif isinstance(value, nn.Module):
        for name, tensor in tensors_of(value):
            yield Operand(text + name, with_index(tensor.device), node, tensor, value)
    elif isinstance(value, torch.optim.Optimizer):
        yield from _of_optimizer(site, text, value, node)
    elif depth < 3:
        value = value.data if isinstance(value, UserDict) else value
        pairs: Any = ()
        if isinstance(value, dict):
            pairs = dict.items(value)
        elif isinstance(value, list | tuple):
            pairs = enumerate(value)
        for key, element in islice(pairs, _MANY):
            yield from expand(site, f"{text}[{key!r}]", element, node, holder or value, depth + 1)


def tensors_of(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """List a network's parameters and buffers, called as Python would: `[2].weight`."""
    for path, inner in module.named_modules():
        walked, prefix = module, ""
        for step in path.split(".") if path else ():
            listed = isinstance(walked, nn.Sequential | nn.ModuleList)
            keyed = isinstance(walked, nn.ModuleDict)
            prefix += f"[{step}]" if listed else f"[{step!r}]" if keyed else f".{step}"
            walked = walked._modules[step]
        for name, tensor in [*inner._parameters.items(), *inner._buffers.items()]:
            if tensor is not None:
                yield f"{prefix}.{name}", tensor


def _of_optimizer(
    site: Site, text: str, optimizer: torch.optim.Optimizer, node: ast.AST
) -> Iterator[Operand]:
    names = {
        id(tensor): variable + name
        for variable, value in site.names.items()
        if isinstance(value, nn.Module) and not variable.startswith("_")
        for name, tensor in tensors_of(value)
    }
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for number, parameter in enumerate(parameters):
        name = names.get(id(parameter), f"parameter {number}")
        yield Operand(name, with_index(parameter.device), node, parameter, optimizer)
        for key, value in optimizer.state.get(parameter, {}).items():
            if isinstance(value, torch.Tensor):
                label = f"{text}.state[{name}][{key!r}]"
                yield Operand(label, with_index(value.device), node, value, optimizer)
