"""Make a network know of a tensor or of layers that it keeps where `.to()` does not look."""

from __future__ import annotations

import ast
from types import FunctionType

import torch
from torch import nn

from helpers.explain.editing import Cure, rewrite, span
from helpers.explain.operands import Operand
from helpers.explain.source import Site, Source, is_library


def cure_of_plain_attribute(site: Site, owner: nn.Module, culprit: Operand) -> Cure | None:
    """Turn `self.scale = tensor` in `__init__` into a buffer, or into a parameter if it learns."""
    attribute = next((k for k, v in vars(owner).items() if v is culprit.value), None)
    if attribute is None or not isinstance(culprit.value, torch.Tensor):
        return None
    found = _assignment(owner, attribute)
    if found is None:
        return None
    source, statement = found
    start, end = span(statement)
    value = span(statement.value)[0]
    if culprit.value.requires_grad:
        edits = [(value, value, f"{_nn(site)}.Parameter("), (end, end, ")")]
    else:
        edits = [(start, value, f"self.register_buffer({attribute!r}, "), (end, end, ")")]
    return rewrite(source, edits, [], None, f"`{type(owner).__name__}.__init__`")


def cure_of_hidden_layers(site: Site, owner: nn.Module, culprit: Operand) -> Cure | None:
    """Turn `self.layers = [...]` in `__init__` into `nn.ModuleList([...])`, a dict likewise."""
    for attribute, value in vars(owner).items():
        kind = "ModuleDict" if isinstance(value, dict) else "ModuleList"
        kept = value.values() if isinstance(value, dict) else value
        if attribute.startswith("_") or not isinstance(value, list | tuple | dict):
            continue
        if any(element is culprit.holder for element in kept):
            found = _assignment(owner, attribute)
            if found is None:
                return None
            source, statement = found
            start, end = span(statement.value)
            edits = [(start, start, f"{_nn(site)}.{kind}("), (end, end, ")")]
            return rewrite(source, edits, [], None, f"`{type(owner).__name__}.__init__`")
    return None


def _assignment(owner: nn.Module, attribute: str) -> tuple[Source, ast.Assign] | None:
    """Find `self.attribute = ...` in the `__init__` of the network's class, or of one above it."""
    for kind in type(owner).__mro__:
        made = vars(kind).get("__init__")
        if not isinstance(made, FunctionType) or is_library(made.__code__.co_filename):
            continue
        source = Source.of(made.__code__.co_filename, made.__globals__)
        for node in ast.walk(source.tree) if source else ():
            if isinstance(node, ast.FunctionDef) and node.lineno == made.__code__.co_firstlineno:
                for part in ast.walk(node):
                    if isinstance(part, ast.Assign) and [ast.unparse(t) for t in part.targets] == [
                        f"self.{attribute}"
                    ]:
                        return source, part
    return None


def _nn(site: Site) -> str:
    """Return what the student calls `torch.nn`."""
    return next((k for k, v in site.names.items() if v is nn), "torch.nn")
