"""Evaluate expressions in a student's line without running any of their code.

None of the student's functions, properties or `__getitem__` methods is called.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

import torch
from torch import nn

from helpers.explain.source import Site

MISSING: Any = object()
_TENSOR_ATTRIBUTES = ("T", "mT", "H", "mH", "data", "real", "imag", "grad")


def value_of(node: ast.AST | None, names: Mapping[str, object]) -> Any:
    """Return the value of `node`, or MISSING if evaluating it would run code."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return names.get(name, MISSING)
        case ast.Attribute(value=base, attr=attr):
            return _attribute(value_of(base, names), attr)
        case ast.Subscript(value=base, slice=key):
            return _item(value_of(base, names), value_of(key, names))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
        case ast.Call(func=func, args=[ast.Constant() as name, *more], keywords=[]):
            if value_of(func, names) is torch.device:
                return as_device(name.value, value_of(more[0], names) if more else None)
    return MISSING


def _attribute(base: Any, attr: str) -> Any:
    if base is MISSING:
        return MISSING
    if isinstance(base, torch.Tensor):
        if attr not in _TENSOR_ATTRIBUTES:
            return MISSING
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # reading .grad of a non-leaf tensor warns
            return getattr(base, attr)
    if isinstance(base, nn.Module):
        tables = (vars(base), base._parameters, base._buffers, base._modules)
        return next((table[attr] for table in tables if attr in table), MISSING)
    if isinstance(base, ModuleType):
        return vars(base).get(attr, MISSING)
    value = inspect.getattr_static(base, attr, MISSING)
    return MISSING if hasattr(type(value), "__get__") else value


def _item(base: Any, key: Any) -> Any:
    if isinstance(base, nn.Sequential | nn.ModuleList | nn.ModuleDict):
        base = base._modules if isinstance(key, str) else list(base._modules.values())
    try:
        if isinstance(base, dict):
            return dict.get(base, key, MISSING)
        if isinstance(base, list | tuple) and isinstance(key, int):
            return (list if isinstance(base, list) else tuple).__getitem__(base, key)
    except (IndexError, TypeError):
        pass
    return MISSING


def as_device(value: Any, index: Any = None) -> torch.device | None:
    """Return the device of `value`: a device, its name or index, or a tensor; None for others."""
    if isinstance(value, torch.Tensor):
        return value.device
    if isinstance(value, bool) or not isinstance(value, str | int | torch.device):
        return None
    try:
        device = torch.device(value, index) if isinstance(index, int) else torch.device(value)
    except RuntimeError:
        return None
    return with_index(device)


def with_index(device: torch.device) -> torch.device:
    """Return `device` with index 0 if it is a GPU without an index, as in `cuda`."""
    if device.type in ("cpu", "meta") or device.index is not None:
        return device
    return torch.device(device.type, 0)


def device_code(site: Site, target: torch.device, tensors: tuple[str, ...] = ()) -> str:
    """Return code for `target`: the student's `device`, else `x.device`, else `'cuda:0'`.

    `tensors` are local variables of the function that hold tensors on `target`.
    """
    *local, shared = site.names.maps
    local_names = [name for scope in local if scope is not shared for name in scope]
    code = _variable_holding(site, local_names, target)
    if not code and tensors:
        code = f"{tensors[0]}.device"
    return code or _variable_holding(site, list(shared), target) or repr(str(target))


def _variable_holding(site: Site, names: list[str], target: torch.device) -> str:
    for name in sorted(names, key=lambda name: name != "device"):
        value = site.names[name]
        is_candidate = isinstance(value, torch.device) or name.lower() in ("device", "dev")
        if is_candidate and not name.startswith("_") and as_device(value) == target:
            return name
    return ""


def local_tensors(site: Site, target: torch.device, names: list[str]) -> tuple[str, ...]:
    """Return those of `names` that hold a tensor on `target`; none outside a function."""
    pairs = [(name, site.names.get(name)) for name in names] if site.in_function else []
    return tuple(n for n, v in pairs if isinstance(v, torch.Tensor) and v.device == target)


def with_comprehension_variables(site: Site) -> Site:
    """Return `site` with the variables of the comprehensions around its expression.

    Since Python 3.12, a comprehension has no frame, and its variables are gone when the error is
    handled. Instead of the element that failed, the first element of the list is used.
    """
    if site.source is None or site.node is None or len(site.names.maps) > 2:
        return site
    kinds = (ast.ListComp, ast.SetComp, ast.DictComp)
    names: ChainMap[str, object] = site.names
    for comprehension in reversed(site.source.parents(site.node)):
        for loop in comprehension.generators if isinstance(comprehension, kinds) else ():
            items = value_of(loop.iter, names)
            if isinstance(items, nn.Sequential | nn.ModuleList):
                items = list(items._modules.values())
            first = items[0] if isinstance(items, list | tuple) and items else MISSING
            names = ChainMap(_unpack(loop.target, first), *names.maps)
    return replace(site, names=names)


def _unpack(target: ast.expr, value: Any) -> dict[str, object]:
    """Assign `value` to the names of `target`."""
    if isinstance(target, ast.Name):
        return {target.id: value}
    parts = list(getattr(target, "elts", ()))
    values = value if isinstance(value, list | tuple) else ()
    padded = [*values, *[MISSING] * len(parts)]
    return {name: part for inner in map(_unpack, parts, padded) for name, part in inner.items()}
