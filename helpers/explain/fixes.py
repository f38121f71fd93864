"""Fix two devices in one line: move what is on the wrong device, where it is used."""

from __future__ import annotations

import ast

import torch
from torch import nn

from helpers.explain.cause import Mix
from helpers.explain.edits import (
    Advice,
    Edit,
    Fix,
    add_method,
    can_assign,
    create_on,
    make_fix,
    replace_method,
    takes_a_line_before,
)
from helpers.explain.origin_fixes import fix_at_origin
from helpers.explain.places import Operand
from helpers.explain.source import Site
from helpers.explain.values import MISSING, device_code, local_tensors, value_of


def advise(mix: Mix, *, dtypes_differ: bool = False) -> Advice:
    """Write the fix for two devices in one line, where the tensor was created if possible."""
    advice = fix_at_origin(mix)
    if advice is not None:
        return advice
    why = "torch computes on one device, and with one data type." if dtypes_differ else ""
    return Advice(_move(mix, dtypes_differ), why=why)


def _move(mix: Mix, dtypes_differ: bool) -> Fix | None:
    """Move each culprit in a new line before the failing one, or else within the line."""
    site = mix.site
    tensors = local_tensors(site, mix.target, [o.text for o in mix.others])
    device = device_code(site, mix.target, tensors)
    dtypes = [o.value.dtype for o in mix.others if o.value is not None]
    to = f"{device}, {dtypes[0]}" if dtypes_differ and dtypes else device
    before: list[str] = []
    edits: list[Edit] = []
    seen: set[object] = set()
    for operand in [inner for o in mix.culprits for inner in _inputs_to_move(o, mix.target)]:
        in_collection = isinstance(operand.holder, list | tuple | dict)
        key = operand.text if in_collection else operand.node
        if key in seen:
            continue
        seen.add(key)
        line = _new_line(site, operand, device, to)
        if line and takes_a_line_before(site):
            before += [line] if line not in before else []
        elif operand.created:
            edits += create_on(site, operand.node, to)
        elif operand.moved:  # x.to(device), where `device` is the wrong one
            edits.append(replace_method(operand.node, f".to({to})"))
        elif operand.holder is None or isinstance(operand.holder, nn.Module):
            edits += add_method(operand.node, f".to({to})")
        else:
            return None
    return make_fix(site.source, edits, site.statement, tuple(before))


def _inputs_to_move(operand: Operand, target: torch.device) -> list[Operand]:
    """Return what must move so that `net(x)` is computed on `target`: the network and its input."""
    inputs = [o for inner in operand.inputs for o in _inputs_to_move(inner, target)]
    return [o for o in inputs if o.device != target and not o.scalar] or [operand]


def _new_line(site: Site, operand: Operand, device: str, to: str) -> str:
    """Return the line that moves `operand` before it is used; "" if none can."""
    node, name = operand.node, site.source.segment(operand.node)
    if operand.created or operand.inputs:
        return ""
    match operand.holder:
        case nn.Module():
            return f"{name}.to({device})" if value_of(node, site.names) is not MISSING else ""
        case list() | tuple() | dict():
            return _move_elements(site, operand, name, to)
    match node:
        case ast.Name():
            value = operand.value
            leaf = isinstance(value, torch.Tensor) and value.is_leaf and value.requires_grad
            if can_assign(site, node) and not leaf:  # a copy of a leaf would get no gradient
                names = _loop_variables(site, name) or [name]
                return f"{', '.join(names)} = {', '.join(f'{n}.to({to})' for n in names)}"
        case ast.Attribute() | ast.Subscript() if _is_modified(site, node):
            return f"{name} = {name}.to({to})"
        case ast.Subscript():
            return _move_dict_of(site, node, to)
    return ""


def _move_elements(site: Site, operand: Operand, name: str, to: str) -> str:
    holder = operand.holder
    elements = holder.values() if isinstance(holder, dict) else holder
    all_tensors = all(isinstance(element, torch.Tensor) for element in elements)
    assignable = isinstance(operand.node, ast.Name) and can_assign(site, operand.node)
    if not (all_tensors and assignable):
        return "" if isinstance(holder, tuple) else f"{operand.text} = {operand.text}.to({to})"
    if isinstance(holder, dict):
        return f"{name} = {{key: value.to({to}) for key, value in {name}.items()}}"
    if isinstance(holder, tuple):
        return f"{name} = tuple(item.to({to}) for item in {name})"
    return f"{name} = [item.to({to}) for item in {name}]"


def _move_dict_of(site: Site, entry: ast.Subscript, to: str) -> str:
    """Return the line that moves the batch of `batch["x"]`, if it is all on one device."""
    batch = value_of(entry.value, site.names)
    if not (isinstance(batch, dict) and len(batch) > 1 and isinstance(entry.value, ast.Name)):
        return ""
    tensors = [value for value in batch.values() if isinstance(value, torch.Tensor)]
    together = len(tensors) == len(batch) and len({t.device for t in tensors}) == 1
    if not (together and can_assign(site, entry.value)):
        return ""
    name = entry.value.id
    return f"{name} = {{key: value.to({to}) for key, value in {name}.items()}}"


def _loop_variables(site: Site, name: str) -> list[str]:
    """Return both names of `for X, y in loader:`, to move the batch together; else nothing."""
    for outer in site.source.parents(site.statement):
        for part in ast.walk(outer.target) if isinstance(outer, ast.For) else ():
            names = [e.id for e in getattr(part, "elts", ()) if isinstance(e, ast.Name)]
            if name in names and len(names) == len(part.elts) == 2:
                pair = [site.names.get(n) for n in names]
                if all(isinstance(t, torch.Tensor) and t.device == pair[0].device for t in pair):
                    return names
    return []


def _is_modified(site: Site, node: ast.AST) -> bool:
    """Return whether the line writes into `node`, so that a moved copy would lose the result."""
    outer = site.source.parents(node)[0]
    in_place = isinstance(outer, ast.Attribute) and outer.attr.endswith("_")
    item_assigned = isinstance(getattr(outer, "ctx", None), ast.Store)
    out_argument = isinstance(outer, ast.keyword) and outer.arg == "out"
    assigned = isinstance(getattr(node, "ctx", None), ast.Store)
    return assigned or in_place or item_assigned or out_argument
