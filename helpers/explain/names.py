"""What a name, an attribute or an item in the student's line meant, without running their code.

Nothing is called: no function, no property, no `__getitem__` of the student's.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections import UserDict
from collections.abc import Mapping
from types import MemberDescriptorType, ModuleType
from typing import Any

import torch
from torch import nn

from helpers.explain.device_names import as_device

MISSING: Any = object()
_OF_A_TENSOR = ("T", "mT", "H", "mH", "data", "real", "imag", "grad")


def value_of(node: ast.AST | None, names: Mapping[str, object]) -> Any:
    """Return what `node` stands for, or MISSING where that takes running code to find out."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return names.get(name, MISSING)
        case ast.Attribute(value=base, attr=attr):
            return _member(value_of(base, names), attr)
        case ast.Subscript(value=base, slice=key):
            return _item(value_of(base, names), value_of(key, names))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
        case ast.Call(func=func, args=[ast.Constant() as name, *more], keywords=[]):
            if value_of(func, names) is torch.device:
                return as_device(name.value, value_of(more[0], names) if more else None)
    return MISSING


def _member(base: Any, attr: str) -> Any:
    if base is MISSING:
        return MISSING
    if isinstance(base, torch.Tensor):
        if attr not in _OF_A_TENSOR:
            return MISSING
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # .grad of a tensor that is no leaf
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
