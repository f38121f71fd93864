"""List the tensors, networks and optimizers in a student's expression, with their devices."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from types import ModuleType
from typing import Any

import torch
from torch import nn

from helpers.explain.source import Site
from helpers.explain.values import MISSING, as_device, value_of, with_index

_MAX_ELEMENTS = 50  # to inspect in a list or dict
_FACTORIES = re.findall(
    r"\w+",
    "arange as_tensor empty eye from_numpy full hann_window linspace logspace ones rand randint "
    "randn randperm tensor zeros",
)
_TENSOR_BUILTINS = ("sum", "max", "min", "abs", "next", "pow", "getattr")
_MOVES = ("to", "cpu", "cuda")
# Methods and attributes of a tensor or network whose result is not a tensor.
_NOT_TENSORS = re.findall(
    r"\w+",
    "item tolist numpy size dim numel get_device data_ptr shape dtype device ndim is_cuda "
    "parameters named_parameters state_dict",
)


@dataclass(frozen=True)
class Operand:
    """A tensor or generator in the student's expression, with its name in the student's code.

    Attributes:
        text: its name in the student's code, such as `net[0].weight`.
        device: its device; None if it is the result of one of the student's functions.
        node: the part of the expression that it comes from.
        value: the tensor or generator; None if it does not exist before the line runs.
        holder: the network, optimizer, list or dict that contains it.
        created: the expression creates it, as `torch.ones(3)` does.
        moved: the expression moves it, as `x.to(device)` does.
        index: the expression uses it to index another tensor.
        inputs: for the result of a network, the network's tensors and its arguments.
    """

    text: str
    device: torch.device | None
    node: ast.AST
    value: Any = None
    holder: Any = None
    created: bool = False
    moved: bool = False
    index: bool = False
    inputs: tuple[Operand, ...] = ()

    @property
    def scalar(self) -> bool:
        """Whether it is a tensor without dimensions, which torch accepts from the CPU."""
        return isinstance(self.value, torch.Tensor) and self.value.dim() == 0

    @property
    def trained_leaf(self) -> bool:
        """Whether it is trained, so that a moved copy would get no gradient."""
        return isinstance(self.value, torch.Tensor) and (
            self.value.is_leaf and self.value.requires_grad
        )


def operands(site: Site) -> tuple[list[Operand], list[Operand]]:
    """Return the operands of the failing expression, in source order, as two lists.

    The second list has the results of the student's functions, whose device is unknown.
    """
    all_operands = [
        o for node in _evaluated_expressions(site.node) for o in _collect(site, node, top=True)
    ]
    return [o for o in all_operands if o.device is not None], [
        o for o in all_operands if o.device is None
    ]


def _evaluated_expressions(node: ast.AST | None) -> list[ast.AST]:
    """Return the expressions that a statement evaluates, without its body."""
    match node:
        case None | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Try():
            return []
        case ast.If(test=test) | ast.While(test=test):
            return [test]
        case ast.For(iter=iterated):
            return [iterated]
        case ast.With(items=items):
            return [item.context_expr for item in items]
        case ast.Assign(targets=targets, value=value):
            changed = [t for t in targets if isinstance(t, ast.Subscript)]
            # w.grad = gradient: torch compares the gradient's device with w's
            owners = [t.value for t in targets if isinstance(t, ast.Attribute) and t.attr == "grad"]
            return [*changed, *owners, value]
        case ast.stmt():
            return [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
    return [node]


def _collect(site: Site, node: ast.AST, *, top: bool = False) -> list[Operand]:
    value = value_of(node, site.names)
    if value is not MISSING:
        return list(_tensors_in(site, site.source.segment(node), value, node))
    match node:
        case ast.Call():
            return _operands_of_call(site, node, top=top)
        case ast.Subscript(value=base, slice=key):
            indices = [replace(o, index=True) for o in _collect(site, key)]
            return (_collect(site, base) or _unknown_operand(site, node)) + indices
        case ast.Attribute(value=base, attr=attr):
            return (
                [] if attr in _NOT_TENSORS else _collect(site, base) or _unknown_operand(site, node)
            )
        case ast.Lambda() | ast.FormattedValue():
            return []
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            return []
    return [o for part in ast.iter_child_nodes(node) for o in _collect(site, part)]


def _operands_of_call(site: Site, call: ast.Call, *, top: bool) -> list[Operand]:
    text = site.source.segment(call)
    if is_factory(site, call) and not top:
        device = device_argument(site, call) or torch.get_default_device()
        return [Operand(text, with_index(device), call, created=True)]
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    argument_operands = [o for argument in arguments for o in _collect(site, argument)]
    function = value_of(call.func, site.names)
    if isinstance(function, nn.Module):
        network_operands = list(
            _tensors_in(site, site.source.segment(call.func), function, call.func)
        )
        if top or len({o.device for o in network_operands}) != 1:
            return network_operands + argument_operands
        inputs = tuple(o for o in network_operands + argument_operands if o.device is not None)
        return [Operand(text, network_operands[0].device, call, None, function, inputs=inputs)]
    if not isinstance(call.func, ast.Attribute):
        return (
            argument_operands if top or _calls_torch(site, call) else _unknown_operand(site, call)
        )
    receiver, method = call.func.value, call.func.attr
    receiver_operands = _collect(site, receiver)
    if top:
        return receiver_operands + argument_operands
    if method in _MOVES:
        device = device_argument(site, call)
        return [Operand(text, device, call, moved=True)] if device else []
    if method in _NOT_TENSORS:
        return []
    if receiver_operands or isinstance(value_of(receiver, site.names), ModuleType | torch.Tensor):
        return receiver_operands + argument_operands
    return _unknown_operand(site, call)


def _unknown_operand(site: Site, node: ast.AST) -> list[Operand]:
    """Return an operand on an unknown device; none for a call such as `len(x)`."""
    function = node.func.id if isinstance(getattr(node, "func", None), ast.Name) else ""
    if function in vars(builtins) and function not in _TENSOR_BUILTINS:
        return []
    return [Operand(site.source.segment(node), None, node)]


def _tensors_in(
    site: Site, text: str, value: Any, node: ast.AST, holder: Any = None, depth: int = 0
) -> Iterator[Operand]:
    """Yield the tensors and generators in `value`; `text` is its name in the student's code."""
    if isinstance(value, torch.Tensor | torch.Generator):
        yield Operand(text, with_index(value.device), node, value, holder)
    elif isinstance(value, nn.Module):
        for name, tensor in _tensors_of_module(value):
            yield Operand(text + name, with_index(tensor.device), node, tensor, value)
    elif isinstance(value, torch.optim.Optimizer):
        yield from _tensors_of_optimizer(site, text, value, node)
    elif isinstance(value, dict | list | tuple) and depth < 3:
        pairs: Any = dict.items(value) if isinstance(value, dict) else enumerate(value)
        for key, element in islice(pairs, _MAX_ELEMENTS):
            name = f"{text}[{key!r}]"
            yield from _tensors_in(site, name, element, node, holder or value, depth + 1)


def _tensors_of_module(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield parameters and buffers, named as in Python: `[2].weight`."""
    for path, inner in module.named_modules():
        outer, prefix = module, ""
        for step in path.split(".") if path else ():
            is_list = isinstance(outer, nn.Sequential | nn.ModuleList)
            is_dict = isinstance(outer, nn.ModuleDict)
            prefix += f"[{step}]" if is_list else f"[{step!r}]" if is_dict else f".{step}"
            outer = outer._modules[step]
        for name, tensor in [*inner._parameters.items(), *inner._buffers.items()]:
            if tensor is not None:
                yield f"{prefix}.{name}", tensor


def _tensors_of_optimizer(
    site: Site, text: str, optimizer: torch.optim.Optimizer, node: ast.AST
) -> Iterator[Operand]:
    names = {
        id(tensor): variable + name
        for variable, value in site.names.items()
        if isinstance(value, nn.Module) and not variable.startswith("_")
        for name, tensor in _tensors_of_module(value)
    }
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for number, parameter in enumerate(parameters):
        name = names.get(id(parameter), f"parameter {number}")
        yield Operand(name, with_index(parameter.device), node, parameter, optimizer)
        for key, value in optimizer.state.get(parameter, {}).items():
            if isinstance(value, torch.Tensor):
                label = f"{text}.state[{name}][{key!r}]"
                yield Operand(label, with_index(value.device), node, value, optimizer)


def is_factory(site: Site, node: ast.AST) -> bool:
    """Return whether `node` calls a function such as `torch.ones`, which creates a tensor."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    return node.func.attr in _FACTORIES and value_of(node.func.value, site.names) is torch


def _calls_torch(site: Site, call: ast.Call) -> bool:
    """Return whether `call` calls a function of torch by its own name, such as `relu(x)`."""
    function = value_of(call.func, site.names)
    return callable(function) and str(getattr(function, "__module__", "")).startswith("torch")


def device_argument(site: Site, call: ast.Call) -> torch.device | None:
    """Return the device that a call specifies: `device="cuda"`, `.to(device)`, `.cpu()`."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if method in ("cpu", "cuda") and not call.args:
        return with_index(torch.device(method))
    nodes = [keyword.value for keyword in call.keywords if keyword.arg == "device"]
    nodes += call.args[:1] if method in _MOVES else []
    for node in nodes:
        device = as_device(value_of(node, site.names))
        if device is None and isinstance(node, ast.Attribute) and node.attr == "device":
            device = as_device(value_of(node.value, site.names))
        if device is not None:
            return device
    return None
