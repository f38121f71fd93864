"""Build the fix for a line that mixes two devices, where the tensor was created or is used."""

from __future__ import annotations

import ast
from types import FunctionType

import torch
from torch import nn

from helpers.explain.cause import DeviceMismatch
from helpers.explain.edits import (
    Advice,
    Edit,
    Fix,
    add_method,
    can_assign,
    can_insert_line_before,
    create_on,
    is_modified,
    loop_variables,
    make_fix,
    replace_method,
    wrap,
)
from helpers.explain.operands import Operand, device_argument, is_factory
from helpers.explain.source import Site, Source, is_library
from helpers.explain.values import MISSING, device_code, local_tensors, value_of
from helpers.language import translate


def advise(mismatch: DeviceMismatch, *, dtypes_differ: bool = False) -> Advice:
    """Return the fix for a line that mixes devices, where the tensor was created if possible."""
    advice = _fix_at_origin(mismatch)
    if advice is not None:
        return advice
    one_type = translate("An operation needs all its tensors on one device and with one data type.")
    why = one_type if dtypes_differ else ""
    return Advice(_move(mismatch, dtypes_differ), why=why)


def _fix_at_origin(mismatch: DeviceMismatch) -> Advice | None:
    culprit = mismatch.culprits[0]
    if isinstance(culprit.holder, torch.optim.Optimizer):
        return _fix_optimizer_state(mismatch.site, culprit)
    advice = None
    only_one = len({ast.dump(o.node) for o in mismatch.culprits}) == 1 and culprit.holder is None
    if only_one and isinstance(culprit.node, ast.Name):
        advice = _fix_dropped_move(mismatch, culprit.node.id) or _fix_creation_in_function(
            mismatch, culprit
        )
    return advice or _fix_unregistered(mismatch)


def _fix_optimizer_state(site: Site, culprit: Operand) -> Advice:
    name = site.source.segment(culprit.node)
    why = translate(
        "The optimizer's state stays on the device where it was created; loading it moves it to "
        "the parameters. Better: move the network before you create the optimizer."
    )
    line = f"{name}.load_state_dict({name}.state_dict())"
    before = (line,) if can_insert_line_before(site) else ()
    return Advice(make_fix(site.source, [], site.statement, before), why=why)


def _fix_dropped_move(mismatch: DeviceMismatch, name: str) -> Advice | None:
    """Return a fix for the line `x.to(device)` above, whose result is not assigned."""
    site = mismatch.site
    scope = site.source.scope_of(site.statement)
    for node in ast.walk(scope):
        match node:
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=moved), attr="to" | "cuda"))
            ) if (
                moved == name
                and node.lineno < site.statement.lineno
                and site.source.scope_of(node) is scope
                and device_argument(site, node.value) == mismatch.target
            ):
                edits = wrap(site.source, node.value, f"{name} = ", "")
                where = translate("line {number}", number=node.lineno)
                fix = make_fix(site.source, edits, node, (), where)
                call = site.source.segment(node.value)
                why = translate(
                    "`{call}` returns a copy, which is not assigned; `{name}` does not change.",
                    call=call,
                    name=name,
                )
                return Advice(fix, why=why)
    return None


def _fix_creation_in_function(mismatch: DeviceMismatch, culprit: Operand) -> Advice | None:
    """Return a fix for the line that creates a tensor in the failing function, or a trained one."""
    site = mismatch.site
    definition = site.definition_of(culprit.node.id)
    if not (site.in_function or culprit.trained_leaf) or definition is None:
        return None
    calls = [part for part in ast.walk(definition.value) if is_factory(site, part)]
    if len(calls) != 1:
        return None
    tensors = local_tensors(site, mismatch.target, list(site.arguments))
    edits = create_on(site, calls[0], device_code(site, mismatch.target, tensors))
    where = translate("line {number}", number=definition.lineno)
    fix = make_fix(site.source, edits, definition, (), where)
    function, text = site.frame.f_code.co_name, culprit.text
    if not site.in_function:
        why = translate(
            "`{text}` is trained, and `{text}.to(...)` would be a copy that is not.", text=text
        )
    elif function == "forward":
        why = translate(
            "`forward` creates `{text}`, and `net.to()` moves only parameters and buffers.",
            text=text,
        )
    else:
        why = translate(
            "`{function}` creates `{text}`, and torch creates tensors on the CPU by default.",
            function=function,
            text=text,
        )
    return Advice(fix, why=why)


def _fix_unregistered(mismatch: DeviceMismatch) -> Advice | None:
    """Return a fix that registers a tensor or module that its network's `.to()` does not move."""
    site, culprit = mismatch.site, mismatch.culprits[0]
    owner = site.names.get("self")
    if not (site.in_function and isinstance(owner, nn.Module)):
        return None
    parts = [o for o in mismatch.culprits if o.text.startswith("self.")]
    if len({ast.dump(o.node) for o in mismatch.culprits}) > 1 and len(parts) < len(
        mismatch.culprits
    ):
        return None
    stored = culprit.holder if isinstance(culprit.holder, nn.Module) else culprit.value
    if any(module is stored for module in owner.modules()):
        return None
    for attribute, value in vars(owner).items():
        definition = None if attribute.startswith("_") else _assignment(owner, attribute)
        if definition is None:
            continue
        source, assignment = definition
        if value is stored and isinstance(value, torch.Tensor):
            why = translate(
                "`.to()` moves parameters and buffers; it does not move a plain tensor attribute."
            )
            edits = _register_tensor(site, source, assignment, value)
        elif wrapper := _container_of(value, stored):
            why = translate(
                "`.to()` moves registered modules and parameters; it does not search plain lists "
                "and dicts."
            )
            edits = wrap(source, assignment.value, f"{_nn(site)}.{wrapper}(", ")")
        else:
            continue
        where = f"`{type(owner).__name__}.__init__`"
        return Advice(make_fix(source, edits, assignment, where=where), why=why)
    return None


def _register_tensor(
    site: Site, source: Source, assignment: ast.Assign, tensor: torch.Tensor
) -> list[Edit]:
    """Return the edits that register `self.scale = tensor` as a buffer, or a trained parameter."""
    if tensor.requires_grad:
        return wrap(source, assignment.value, f"{_nn(site)}.Parameter(", ")")
    start, end = source.span(assignment)
    name = assignment.targets[0].attr
    value = source.span(assignment.value)[0]
    return [(start, value, f"self.register_buffer({name!r}, "), (end, end, ")")]


def _container_of(value: object, target: object) -> str:
    """Return the container of `torch.nn` for a list or dict that contains `target`, or ""."""
    kind = next((k for k in (nn.Module, nn.Parameter) if isinstance(target, k)), None)
    elements = value.values() if isinstance(value, dict) else value
    if kind is None or not isinstance(value, list | tuple | dict):
        return ""
    if not any(element is target for element in elements):
        return ""
    return f"{kind.__name__}{'Dict' if isinstance(value, dict) else 'List'}"


def _assignment(owner: nn.Module, attribute: str) -> tuple[Source, ast.Assign] | None:
    """Return `self.attribute = ...` in the `__init__` of the network's class or a base class."""
    for class_ in type(owner).__mro__:
        init = vars(class_).get("__init__")
        if not isinstance(init, FunctionType) or is_library(init.__code__.co_filename):
            continue
        source = Source.of(init.__code__.co_filename, init.__globals__)
        functions = [
            node
            for node in (ast.walk(source.tree) if source else ())
            if isinstance(node, ast.FunctionDef) and node.lineno == init.__code__.co_firstlineno
        ]
        for part in (part for function in functions for part in ast.walk(function)):
            targets = part.targets if isinstance(part, ast.Assign) else []
            if [ast.unparse(target) for target in targets] == [f"self.{attribute}"]:
                return source, part
    return None


def _nn(site: Site) -> str:
    """Return the student's name for `torch.nn`."""
    return next((name for name, value in site.names.items() if value is nn), "torch.nn")


def _move(mismatch: DeviceMismatch, dtypes_differ: bool) -> Fix | None:
    """Return a fix that moves each culprit in a new line before the failing one, or within it."""
    site = mismatch.site
    tensors = local_tensors(site, mismatch.target, [o.text for o in mismatch.others])
    device = device_code(site, mismatch.target, tensors)
    dtypes = [o.value.dtype for o in mismatch.others if o.value is not None]
    to = f"{device}, {dtypes[0]}" if dtypes_differ and dtypes else device
    before: list[str] = []
    edits: list[Edit] = []
    for operand in _operands_to_move(mismatch):
        line = _line_before(site, operand, device, to) if can_insert_line_before(site) else ""
        if line:
            before += [line] if line not in before else []
        elif operand.created:
            edits += create_on(site, operand.node, to)
        elif operand.moved:  # x.to(device), where `device` is the wrong one
            edits.append(replace_method(site.source, operand.node, f".to({to})"))
        elif operand.holder is None or isinstance(operand.holder, nn.Module):
            edits += add_method(site.source, operand.node, f".to({to})")
        else:
            return None
    return make_fix(site.source, edits, site.statement, tuple(before))


def _operands_to_move(mismatch: DeviceMismatch) -> list[Operand]:
    """Return one operand for each network, variable or element that must move."""
    unique: dict[object, Operand] = {}
    for operand in (
        inner for o in mismatch.culprits for inner in _inputs_to_move(o, mismatch.target)
    ):
        in_collection = isinstance(operand.holder, list | tuple | dict)
        unique.setdefault(operand.text if in_collection else operand.node, operand)
    return list(unique.values())


def _inputs_to_move(operand: Operand, target: torch.device) -> list[Operand]:
    """Return what must move so that `net(x)` is computed on `target`: the network and its input."""
    inputs = [o for inner in operand.inputs for o in _inputs_to_move(inner, target)]
    return [o for o in inputs if o.device != target and not o.scalar] or [operand]


def _line_before(site: Site, operand: Operand, device: str, to: str) -> str:
    """Return the line that moves `operand` before it is used; "" if none can."""
    node, name = operand.node, site.source.segment(operand.node)
    if operand.created or operand.inputs:
        return ""
    match operand.holder:
        case nn.Module():
            return f"{name}.to({device})" if value_of(node, site.names) is not MISSING else ""
        case list() | tuple() | dict():
            return _move_elements(site, operand, name, to)
    if isinstance(node, ast.Name) and can_assign(site, node) and not operand.trained_leaf:
        names = loop_variables(site, name) or [name]
        return f"{', '.join(names)} = {', '.join(f'{n}.to({to})' for n in names)}"
    if isinstance(node, ast.Attribute | ast.Subscript) and is_modified(site, node):
        return f"{name} = {name}.to({to})"
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
