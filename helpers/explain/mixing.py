"""Write the line that brings two devices together, out of the student's own names and code."""

from __future__ import annotations

import ast

import torch
from torch import nn

from helpers.explain.contents import Operand
from helpers.explain.culprit import Finding, definition_of
from helpers.explain.device_names import device_text, own_tensors
from helpers.explain.editing import (
    Cure,
    Edit,
    can_be_assigned,
    method_after,
    rewrite,
    span,
    takes_a_line_before,
    with_keyword,
)
from helpers.explain.names import MISSING, value_of
from helpers.explain.operands import is_factory, named_device
from helpers.explain.registering import left_out_of_the_network
from helpers.explain.remedy import Remedy
from helpers.explain.source import Site


def advise(finding: Finding, *, other_type: bool = False) -> Remedy:
    """Write the cure for two devices in one line."""
    culprit = finding.culprits[0]
    if isinstance(culprit.holder, torch.optim.Optimizer):
        return _optimizer_left_behind(finding, culprit)
    special = None
    if len({ast.dump(o.node) for o in finding.culprits}) == 1:
        special = _dropped_move(finding, culprit) or _made_in_function(finding, culprit)
    special = special or left_out_of_the_network(finding)
    why = "torch computes on one device, and with one type of number." if other_type else ""
    return special or Remedy(_general(finding, other_type), why=why)


def _general(finding: Finding, other_type: bool) -> Cure | None:
    """Move each culprit in a line before the failing one, or within it where that must be."""
    site = finding.site
    tensors = own_tensors(site, finding.target, [o.text for o in finding.settled])
    device = device_text(site, finding.target, tensors)
    if other_type:
        numbers = next((o.value.dtype for o in finding.settled if o.value is not None), None)
        device = f"{device}, {numbers}" if numbers else device
    before: list[str] = []
    edits: list[Edit] = []
    seen: set[object] = set()
    culprits = [inner for o in finding.culprits for inner in _behind(o, finding.target)]
    for operand in culprits:
        key = operand.text if _is_item(operand) else operand.node
        if key in seen:
            continue
        seen.add(key)
        line = _line_before(site, operand, device)
        if line and takes_a_line_before(site):
            before += [line] if line not in before else []
        elif operand.made:
            edits += with_device(site, operand.node, device)
        elif operand.moved:  # .to(device), where `device` is another: say which
            tail = span(operand.node.func.value)[1], span(operand.node)[1]
            edits.append((*tail, f".to({device})"))
        elif operand.holder is None or isinstance(operand.holder, nn.Module):
            edits += method_after(operand.node, f".to({device})")
        else:
            return None
    return rewrite(site.source, edits, site.statement, tuple(before))


def _behind(operand: Operand, target: torch.device) -> list[Operand]:
    """Return what must move for `net(x)` to come out on `target`: the network and its input."""
    behind = [o for inner in operand.inner for o in _behind(inner, target)]
    return [o for o in behind if o.device != target and not o.scalar] or [operand]


def _is_item(operand: Operand) -> bool:
    """Say whether the line names a list or dict, and the operand is one of its elements."""
    return isinstance(operand.holder, list | tuple | dict)


def _line_before(site: Site, operand: Operand, device: str) -> str:
    """Return the line that moves `operand` for good; "" where it has to be moved in its place."""
    node, name = operand.node, site.source.segment(operand.node)
    if operand.made or operand.inner:
        return ""
    if isinstance(operand.holder, nn.Module):
        plain = value_of(node, site.names) is not MISSING
        return f"{name}.to({device.split(',')[0]})" if plain else ""
    if _is_item(operand):
        return _items_moved(site, operand, name, device)
    if isinstance(node, ast.Name):
        if can_be_assigned(site, node) and not _is_learning(operand):
            names = _batch(site, name) or [name]
            return f"{', '.join(names)} = {', '.join(f'{n}.to({device})' for n in names)}"
    elif isinstance(node, ast.Attribute | ast.Subscript) and _is_changed(site, node):
        return f"{name} = {name}.to({device})"
    elif isinstance(node, ast.Subscript):
        return _whole_dictionary(site, node, device)
    return ""


def _whole_dictionary(site: Site, entry: ast.Subscript, device: str) -> str:
    """Return the line that moves a batch such as `batch["x"]` comes from, if it moves together."""
    batch = value_of(entry.value, site.names)
    if not (isinstance(batch, dict) and len(batch) > 1 and isinstance(entry.value, ast.Name)):
        return ""
    tensors = [value for value in batch.values() if isinstance(value, torch.Tensor)]
    together = len(tensors) == len(batch) and len({t.device for t in tensors}) == 1
    if not (together and can_be_assigned(site, entry.value)):
        return ""
    name = entry.value.id
    return f"{name} = {{key: value.to({device}) for key, value in {name}.items()}}"


def _is_learning(operand: Operand) -> bool:
    """Say whether it is a tensor that gathers gradients, which a moved copy would not."""
    value = operand.value
    return isinstance(value, torch.Tensor) and value.is_leaf and value.requires_grad


def _batch(site: Site, name: str) -> list[str]:
    """Return the names of `for X, y in loader:`, which are best moved together; else nothing."""
    for outer in site.source.parents(site.statement):
        for part in ast.walk(outer.target) if isinstance(outer, ast.For) else ():
            names = [e.id for e in getattr(part, "elts", ()) if isinstance(e, ast.Name)]
            if name in names and len(names) == len(part.elts) == 2:
                pair = [site.names.get(n) for n in names]
                if all(isinstance(t, torch.Tensor) and t.device == pair[0].device for t in pair):
                    return names
    return []


def _is_changed(site: Site, node: ast.AST) -> bool:
    """Say whether the line writes into `node`, so that a moved copy would not do."""
    outer = site.source.parents(node)[0]
    in_place = isinstance(outer, ast.Attribute) and outer.attr.endswith("_")
    written = isinstance(getattr(outer, "ctx", None), ast.Store)
    named_out = isinstance(outer, ast.keyword) and outer.arg == "out"
    return isinstance(getattr(node, "ctx", None), ast.Store) or in_place or written or named_out


def _items_moved(site: Site, operand: Operand, name: str, device: str) -> str:
    holder = operand.holder
    elements = list(holder.values()) if isinstance(holder, dict) else list(holder)
    whole = all(isinstance(element, torch.Tensor) for element in elements)
    assignable = isinstance(operand.node, ast.Name) and can_be_assigned(site, operand.node)
    if not (whole and assignable):
        return "" if isinstance(holder, tuple) else f"{operand.text} = {operand.text}.to({device})"
    if isinstance(holder, dict):
        return f"{name} = {{key: value.to({device}) for key, value in {name}.items()}}"
    if isinstance(holder, tuple):
        return f"{name} = tuple(item.to({device}) for item in {name})"
    return f"{name} = [item.to({device}) for item in {name}]"


def with_device(site: Site, call: ast.AST, device: str) -> list[Edit]:
    """Make a factory of torch make its tensor, or its generator, on `device`."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "from_numpy":
        return method_after(call, f".to({device})")
    return with_keyword(site.source, call, "device", device)


def _dropped_move(finding: Finding, culprit: Operand) -> Remedy | None:
    """Find the line `x.to(device)` above, which moves nothing as nobody keeps what it returns."""
    site = finding.site
    if not isinstance(culprit.node, ast.Name) or culprit.holder is not None:
        return None
    name = culprit.node.id
    scope = site.source.scope_of(site.statement)
    for node in ast.walk(scope):
        match node:
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=moved), attr="to" | "cuda"))
            ) if (
                moved == name
                and node.lineno < site.statement.lineno
                and site.source.scope_of(node) is scope
                and named_device(site, node.value) == finding.target
            ):
                call = site.source.segment(node.value)
                start = span(node)[0]
                edits = [(start, start, f"{name} = ")]
                cure = rewrite(site.source, edits, node, (), f"line {node.lineno}")
                why = f"`{call}` returns a moved copy, which was not kept; `{name}` stays in place."
                return Remedy(cure, why=why)
    return None


def _made_in_function(finding: Finding, culprit: Operand) -> Remedy | None:
    """Make a tensor where it is needed, if the failing function made it, or if it is to learn."""
    site = finding.site
    if not (isinstance(culprit.node, ast.Name) and culprit.holder is None):
        return None
    if not (site.in_function or _is_learning(culprit)):
        return None
    definition = definition_of(site, culprit.node.id)
    if definition is None:
        return None
    calls = [part for part in ast.walk(definition.value) if is_factory(site, part)]
    if len(calls) != 1:
        return None
    tensors = own_tensors(site, finding.target, list(site.arguments))
    device = device_text(site, finding.target, tensors)
    edits = with_device(site, calls[0], device)
    cure = rewrite(site.source, edits, definition, (), f"line {definition.lineno}")
    function, text = site.frame.f_code.co_name, culprit.text
    why = f"`{function}` makes `{text}` itself; torch makes a tensor on the CPU unless told where."
    if not site.in_function:
        why = f"`{text}` is to learn, and `{text}.to(...)` would be another tensor beside it."
    elif function == "forward":
        why = f"`forward` makes `{text}` anew, and `net.to()` moves parameters and buffers only."
    return Remedy(cure, why=why)


def _optimizer_left_behind(finding: Finding, culprit: Operand) -> Remedy:
    site = finding.site
    name = site.source.segment(culprit.node)
    why = (
        "Its state stays where it was made; loading it brings it to the parameters. Better still: "
        "move the network before you make the optimizer."
    )
    before = (f"{name}.load_state_dict({name}.state_dict())",)
    if not takes_a_line_before(site):
        return Remedy(None, why=why)
    return Remedy(rewrite(site.source, [], site.statement, before), why=why)
