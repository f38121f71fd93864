"""Make a network know of a tensor or of layers that it keeps where `.to()` does not look."""

from __future__ import annotations

import ast
from types import FunctionType

import torch
from torch import nn

from helpers.explain.culprit import Finding
from helpers.explain.editing import Cure, Edit, rewrite, span
from helpers.explain.remedy import Remedy
from helpers.explain.source import Site, Source, is_library

_ATTRIBUTE = "`.to()` moves parameters and buffers; a tensor in a plain attribute stays behind."
_HIDDEN = "`.to()` moves what is registered; a plain list or dict hides its contents from it."


def left_out_of_the_network(finding: Finding) -> Remedy | None:
    """Register what the network of the failing method keeps in a way that `.to()` does not see."""
    site, culprit = finding.site, finding.culprits[0]
    owner = site.names.get("self")
    if not (site.in_function and isinstance(owner, nn.Module)):
        return None
    own = [o for o in finding.culprits if o.text.startswith("self.")]
    if len({ast.dump(o.node) for o in finding.culprits}) > 1 and len(own) < len(finding.culprits):
        return None
    kept = culprit.holder if isinstance(culprit.holder, nn.Module) else culprit.value
    if any(module is kept for module in owner.modules()):
        return None
    cure, why = _as_buffers(site, owner, kept, finding.target), _ATTRIBUTE
    if cure is None:
        cure, why = _as_a_list_of_modules(site, owner, kept), _HIDDEN
    return Remedy(cure, why=why) if cure else None


def _as_buffers(site: Site, owner: nn.Module, kept: object, target: torch.device) -> Cure | None:
    """Turn `self.scale = tensor` in `__init__` into a buffer, or into a parameter if it learns.

    The other tensors that the network keeps in this way are next to fail, and mended with it.
    """
    attributes = {
        name: tensor
        for name, tensor in vars(owner).items()
        if isinstance(tensor, torch.Tensor) and (tensor is kept or tensor.device != target)
    }
    if not any(tensor is kept for tensor in attributes.values()):
        return None
    found = {name: _assignment(owner, name) for name in attributes}
    mine = next(found[name] for name, tensor in attributes.items() if tensor is kept)
    edits: list[Edit] = []
    for name, tensor in attributes.items():
        if mine is None or found[name] is None or found[name][0].filename != mine[0].filename:
            continue
        statement = found[name][1]
        start, end = span(statement)
        value = span(statement.value)[0]
        if tensor.requires_grad:
            edits += [(value, value, f"{_nn(site)}.Parameter("), (end, end, ")")]
        else:
            edits += [(start, value, f"self.register_buffer({name!r}, "), (end, end, ")")]
    where = f"`{type(owner).__name__}.__init__`"
    return rewrite(mine[0], edits, mine[1], where=where) if mine and edits else None


def _as_a_list_of_modules(site: Site, owner: nn.Module, kept: object) -> Cure | None:
    """Turn `self.layers = [...]` in `__init__` into `nn.ModuleList([...])`, and the like."""
    for attribute, value in vars(owner).items():
        if attribute.startswith("_") or not isinstance(value, list | tuple | dict):
            continue
        elements = list(value.values()) if isinstance(value, dict) else list(value)
        if not any(element is kept for element in elements):
            continue
        found = _assignment(owner, attribute)
        what = next((k for k in (nn.Module, nn.Parameter) if isinstance(kept, k)), None)
        if found is None or what is None:
            return None
        source, statement = found
        kind = f"{what.__name__}{'Dict' if isinstance(value, dict) else 'List'}"
        start, end = span(statement.value)
        edits = [(start, start, f"{_nn(site)}.{kind}("), (end, end, ")")]
        where = f"`{type(owner).__name__}.__init__`"
        return rewrite(source, edits, statement, where=where)
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
    return next((name for name, value in site.names.items() if value is nn), "torch.nn")
