"""List what meets in the student's expression: tensors, networks, optimizers, and their devices."""

from __future__ import annotations

import ast
import builtins
from dataclasses import replace
from types import ModuleType

import torch
from torch import nn

from helpers.explain.contents import Operand, expand
from helpers.explain.device_names import as_device, with_index
from helpers.explain.names import MISSING, value_of
from helpers.explain.source import Site

_FACTORIES = """
    arange as_tensor empty eye from_numpy full hann_window linspace logspace ones rand randint
    randn randperm tensor zeros
"""
FACTORIES = frozenset(_FACTORIES.split())
_CAN_BE_TENSORS = ("sum", "max", "min", "abs", "next", "pow", "getattr")
MOVES = ("to", "cpu", "cuda")
# What leads from a tensor to something that is no tensor.
_ENDS = """
    item tolist numpy size dim numel get_device data_ptr shape dtype device ndim is_cuda parameters
    named_parameters state_dict
"""
NO_TENSOR = frozenset(_ENDS.split())


def operands(site: Site) -> list[Operand]:
    """List what takes part in the failing expression of `site`, in the order of the text."""
    return [o for o in _all_of(site) if o.device is not None]


def unknowns(site: Site) -> list[Operand]:
    """List what takes part in it and could be on any device: what the student's functions gave."""
    return [o for o in _all_of(site) if o.device is None]


def _all_of(site: Site) -> list[Operand]:
    return [o for node in _parts(site.node) for o in _collect(site, node, top=True)]


def _parts(node: ast.AST | None) -> list[ast.AST]:
    """Return the expressions that a statement computes itself, without the block under it."""
    match node:
        case None:
            return []
        case ast.If(test=test) | ast.While(test=test):
            return [test]
        case ast.For(iter=iterated) | ast.AsyncFor(iter=iterated):
            return [iterated]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return [item.context_expr for item in items]
        case ast.Assign(targets=targets, value=value):
            changed = [t for t in targets if isinstance(t, ast.Subscript)]
            # w.grad = gradient: it is w that has to be where the gradient is
            owners = [t.value for t in targets if isinstance(t, ast.Attribute) and t.attr == "grad"]
            return [*changed, *owners, value]
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Try():
            return []
        case ast.stmt():
            return [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
    return [node]


def _collect(site: Site, node: ast.AST, *, top: bool = False) -> list[Operand]:
    value = value_of(node, site.names)
    if value is not MISSING:
        return list(expand(site, site.source.segment(node), value, node))
    match node:
        case ast.Call():
            return _of_call(site, node, top=top)
        case ast.Subscript(value=base, slice=key):
            chosen = [replace(o, index=True) for o in _collect(site, key)]
            return _derived(_collect(site, base) or _unknown(site, node), not top) + chosen
        case ast.Attribute(value=base, attr=attr):
            if attr in NO_TENSOR:
                return []
            return _derived(_collect(site, base) or _unknown(site, node), not top)
        case ast.Lambda() | ast.FormattedValue():
            return []
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            return [o for part in node.generators for o in _distant(_collect(site, part.iter))]
    return [o for part in ast.iter_child_nodes(node) for o in _collect(site, part)]


def _of_call(site: Site, call: ast.Call, *, top: bool) -> list[Operand]:
    text = site.source.segment(call)
    if is_factory(site, call) and not top:
        device = named_device(site, call) or torch.get_default_device()
        return [Operand(text, with_index(device), call, made=True)]
    arguments = [*call.args, *(word.value for word in call.keywords)]
    given = [o for argument in arguments for o in _collect(site, argument)]
    called = value_of(call.func, site.names)
    if isinstance(called, nn.Module):
        own = list(expand(site, site.source.segment(call.func), called, call.func))
        devices = {o.device for o in own}
        if top or len(devices) != 1:
            return own + given
        result = Operand(text, own[0].device, call, None, called, derived=True)
        return [replace(result, inner=tuple(o for o in own + given if o.device is not None))]
    if not isinstance(call.func, ast.Attribute):
        own = is_of_torch(site, call)
        return given if top else _derived(given) if own else _unknown(site, call) + _distant(given)
    receiver, method = call.func.value, call.func.attr
    received = _collect(site, receiver)
    if top:
        return received + given
    if method in MOVES:
        device = named_device(site, call)
        return [Operand(text, device, call, moved=True)] if device else []
    if method in NO_TENSOR:
        return []
    if received or isinstance(value_of(receiver, site.names), ModuleType | torch.Tensor):
        return _derived(received + given)
    return _unknown(site, call) + _distant(given)


def _unknown(site: Site, node: ast.AST) -> list[Operand]:
    """Stand for a result that may be a tensor; not for that of a function such as `len`."""
    function = node.func.id if isinstance(getattr(node, "func", None), ast.Name) else ""
    if function in vars(builtins) and function not in _CAN_BE_TENSORS:
        return []
    return [Operand(site.source.segment(node), None, node)]


def _derived(found: list[Operand], derived: bool = True) -> list[Operand]:
    return [replace(o, derived=True) for o in found] if derived else found


def _distant(found: list[Operand]) -> list[Operand]:
    return [replace(o, derived=True, distant=True) for o in found]


def is_factory(site: Site, node: ast.AST) -> bool:
    """Say whether `node` calls a function of torch that makes a tensor out of no tensor."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    return node.func.attr in FACTORIES and value_of(node.func.value, site.names) is torch


def is_of_torch(site: Site, node: ast.AST) -> bool:
    """Say whether `node` calls a network, a layer, a loss or a function of torch."""
    if not isinstance(node, ast.Call):
        return False
    called = value_of(node.func, site.names)
    of_torch = str(getattr(called, "__module__", "")).startswith("torch")
    return isinstance(called, nn.Module) or (callable(called) and of_torch)


def named_device(site: Site, call: ast.Call) -> torch.device | None:
    """Return the device that a call's arguments name: device="cuda", `.to(device)`, `.cpu()`."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if method in ("cpu", "cuda") and not call.args:
        return with_index(torch.device(method))
    words = [word.value for word in call.keywords if word.arg == "device"]
    words += call.args[:1] if method in MOVES else []
    for node in words:
        device = as_device(value_of(node, site.names))
        if device is None and isinstance(node, ast.Attribute) and node.attr == "device":
            device = as_device(value_of(node.value, site.names))
        if device is not None:
            return device
    return None
