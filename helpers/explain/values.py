"""Look up what the expressions in a student's line mean, without running any of their code.

Nothing is called: no function, no property, no `__getitem__` of the student's.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections import ChainMap, UserDict
from collections.abc import Mapping
from dataclasses import replace
from types import MemberDescriptorType, ModuleType
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from helpers.explain.source import Site

MISSING: Any = object()
_TENSOR_ATTRIBUTES = ("T", "mT", "H", "mH", "data", "real", "imag", "grad")


def value_of(node: ast.AST | None, names: Mapping[str, object]) -> Any:
    """Return the value of `node`, or MISSING if finding it would take running code."""
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
            warnings.simplefilter("ignore")  # .grad of a tensor that is not a leaf
            return getattr(base, attr)
    if isinstance(base, nn.Module):
        for table in (vars(base), base._parameters, base._buffers, base._modules):
            if attr in table:
                return table[attr]
        return MISSING
    if isinstance(base, ModuleType):
        return vars(base).get(attr, MISSING)
    found = inspect.getattr_static(base, attr, MISSING)
    if isinstance(found, MemberDescriptorType):  # a slot, or a field such as `x.max(0).values`
        try:
            return found.__get__(base)
        except AttributeError:
            return MISSING
    if isinstance(base, tuple) and attr in getattr(type(base), "_fields", ()):
        return base[type(base)._fields.index(attr)]
    return MISSING if hasattr(type(found), "__get__") else found


def _item(base: Any, key: Any) -> Any:
    if isinstance(base, nn.Sequential | nn.ModuleList | nn.ModuleDict):
        table: Any = base._modules if isinstance(key, str) else list(base._modules.values())
    elif isinstance(base, nn.ParameterList | nn.ParameterDict):
        table = base._parameters if isinstance(key, str) else list(base._parameters.values())
    else:
        table = base.data if isinstance(base, UserDict) else base
    try:
        if isinstance(table, dict):
            return dict.get(table, key, MISSING)
        if isinstance(table, list | tuple) and isinstance(key, int):
            return (list if isinstance(table, list) else tuple).__getitem__(table, key)
    except (IndexError, TypeError):
        pass
    return MISSING


def as_device(value: Any, index: Any = None) -> torch.device | None:
    """Return the device that `value` (a name, a GPU's number, a device or a tensor) stands for."""
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
    """Return `device` with the number 0 if it is a GPU without a number, as in `cuda`."""
    if device.type in ("cpu", "meta") or device.index is not None:
        return device
    return torch.device(device.type, 0)


def device_code(site: Site, target: torch.device, tensors: tuple[str, ...] = ()) -> str:
    """Return code for `target`: the student's `device`, else `x.device`, else `'cuda:0'`.

    `tensors` are local variables of the function that hold tensors on `target`.
    """
    shared = site.names.maps[-1]
    own = [name for scope in site.names.maps[:-1] if scope is not shared for name in scope]
    code = _variable_holding(site, own, target)
    if not code and tensors:
        code = f"{tensors[0]}.device"
    return code or _variable_holding(site, list(shared), target) or repr(str(target))


def _variable_holding(site: Site, names: list[str], target: torch.device) -> str:
    for name in sorted(names, key=lambda name: name != "device"):
        value = site.names[name]
        fits = isinstance(value, torch.device) or name.lower() in ("device", "dev")
        if fits and not name.startswith("_") and as_device(value) == target:
            return name
    return ""


def local_tensors(site: Site, target: torch.device, names: list[str]) -> tuple[str, ...]:
    """Return those of `names` that hold a tensor on `target`; none outside a function."""
    found = [(name, site.names.get(name)) for name in names] if site.in_function else []
    return tuple(n for n, v in found if isinstance(v, torch.Tensor) and v.device == target)


def with_comprehension_variables(site: Site) -> Site:
    """Return `site` with the variables of the comprehensions around its expression.

    Since Python 3.12 a comprehension has no frame, and its variables are gone when the error
    arrives. The first element of what it loops over is used in place of the one that failed.
    """
    if site.source is None or site.node is None or len(site.names.maps) > 2:
        return site
    kinds = (ast.ListComp, ast.SetComp, ast.DictComp)
    around = [node for node in site.source.parents(site.node) if isinstance(node, kinds)]
    names: ChainMap[str, object] = site.names
    for comprehension in reversed(around):
        for loop in comprehension.generators:
            names = ChainMap(_unpack(loop.target, _first(loop.iter, names)), *names.maps)
    return replace(site, names=names) if around else site


def _first(node: ast.expr, names: Mapping[str, object]) -> Any:
    """Return the first element of the iterable `node`, or MISSING."""
    match node:
        case ast.List(elts=[element, *_]) | ast.Tuple(elts=[element, *_]):
            return value_of(element, names)
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            return (0, _first(inner, names))
        case ast.Call(func=ast.Name(id="zip"), args=several):
            return tuple(_first(inner, names) for inner in several)
        case ast.Call(func=ast.Attribute(value=inner, attr="items" | "values" as part), args=[]):
            table = value_of(inner, names)
            if isinstance(table, dict) and table:
                first = next(iter(dict.items(table)))
                return first if part == "items" else first[1]
            return MISSING
    value = value_of(node, names)
    if isinstance(value, DataLoader):  # its batches are on the device of its tensors
        return value.dataset.tensors if isinstance(value.dataset, TensorDataset) else MISSING
    if isinstance(value, nn.Sequential | nn.ModuleList):
        value = list(value._modules.values())
    return value[0] if isinstance(value, list | tuple) and value else MISSING


def _unpack(target: ast.expr, value: Any) -> dict[str, object]:
    """Assign `value` to the names of `target`."""
    if isinstance(target, ast.Name):
        return {target.id: value}
    found: dict[str, object] = {}
    for number, part in enumerate(getattr(target, "elts", ())):
        known = isinstance(value, list | tuple) and number < len(value)
        found |= _unpack(part, value[number] if known else MISSING)
    return found
