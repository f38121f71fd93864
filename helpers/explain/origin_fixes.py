"""Fix two devices in one line where the tensor came from, in another line."""

from __future__ import annotations

import ast
from types import FunctionType

import torch
from torch import nn

from helpers.explain.cause import Mix
from helpers.explain.edits import (
    Advice,
    Edit,
    Fix,
    add_lines,
    create_on,
    insert_before,
    make_fix,
    span,
)
from helpers.explain.places import Operand, device_argument, is_factory
from helpers.explain.source import Site, Source, is_library
from helpers.explain.values import device_code, local_tensors


def fix_at_origin(mix: Mix) -> Advice | None:
    """Return the fix in the line that created or failed to move the culprit; None if unknown."""
    culprit = mix.culprits[0]
    if isinstance(culprit.holder, torch.optim.Optimizer):
        return _optimizer_left_behind(mix.site, culprit)
    advice = None
    only_one = len({ast.dump(o.node) for o in mix.culprits}) == 1 and culprit.holder is None
    if only_one and isinstance(culprit.node, ast.Name):
        advice = _dropped_move(mix, culprit.node.id) or _created_in_function(mix, culprit)
    return advice or _not_registered(mix)


def _optimizer_left_behind(site: Site, culprit: Operand) -> Advice:
    name = site.source.segment(culprit.node)
    why = (
        "The optimizer's state stays on the device where it was created; loading it moves it to "
        "the parameters. Better: move the network before you create the optimizer."
    )
    return Advice(add_lines(site, f"{name}.load_state_dict({name}.state_dict())"), why=why)


def _dropped_move(mix: Mix, name: str) -> Advice | None:
    """Fix the line `x.to(device)` above, whose result is not assigned."""
    site = mix.site
    scope = site.source.scope_of(site.statement)
    for node in ast.walk(scope):
        match node:
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=moved), attr="to" | "cuda"))
            ) if (
                moved == name
                and node.lineno < site.statement.lineno
                and site.source.scope_of(node) is scope
                and device_argument(site, node.value) == mix.target
            ):
                edits = [insert_before(node.value, f"{name} = ")]
                fix = make_fix(site.source, edits, node, (), f"line {node.lineno}")
                call = site.source.segment(node.value)
                why = f"`{call}` returns a copy, which is not assigned; `{name}` does not change."
                return Advice(fix, why=why)
    return None


def _created_in_function(mix: Mix, culprit: Operand) -> Advice | None:
    """Create a tensor on the right device, if the failing function created it or it is a leaf."""
    site, value = mix.site, culprit.value
    leaf = isinstance(value, torch.Tensor) and value.is_leaf and value.requires_grad
    definition = site.definition_of(culprit.node.id)
    if not (site.in_function or leaf) or definition is None:
        return None
    calls = [part for part in ast.walk(definition.value) if is_factory(site, part)]
    if len(calls) != 1:
        return None
    tensors = local_tensors(site, mix.target, list(site.arguments))
    edits = create_on(site, calls[0], device_code(site, mix.target, tensors))
    fix = make_fix(site.source, edits, definition, (), f"line {definition.lineno}")
    function, text = site.frame.f_code.co_name, culprit.text
    why = f"`{function}` creates `{text}`, and torch creates tensors on the CPU by default."
    if not site.in_function:
        why = f"`{text}` is trained, and `{text}.to(...)` would be a copy that is not."
    elif function == "forward":
        why = f"`forward` creates `{text}`, and `net.to()` moves only parameters and buffers."
    return Advice(fix, why=why)


def _not_registered(mix: Mix) -> Advice | None:
    """Register what a network stores in a way that its `.to()` does not see."""
    site, culprit = mix.site, mix.culprits[0]
    owner = site.names.get("self")
    if not (site.in_function and isinstance(owner, nn.Module)):
        return None
    own = [o for o in mix.culprits if o.text.startswith("self.")]
    if len({ast.dump(o.node) for o in mix.culprits}) > 1 and len(own) < len(mix.culprits):
        return None
    stored = culprit.holder if isinstance(culprit.holder, nn.Module) else culprit.value
    if any(module is stored for module in owner.modules()):
        return None
    if fix := _register_tensors(site, owner, stored, mix.target):
        why = "`.to()` moves parameters and buffers; it does not move a plain tensor attribute."
        return Advice(fix, why=why)
    if fix := _register_list(site, owner, stored):
        why = "`.to()` moves registered parts; it does not look into a plain list or dict."
        return Advice(fix, why=why)
    return None


def _register_tensors(
    site: Site, owner: nn.Module, stored: object, target: torch.device
) -> Fix | None:
    """Turn `self.scale = tensor` in `__init__` into a buffer, or a parameter if it is trained.

    Other tensors that the network stores in the same way would fail next; they are included.
    """
    attributes = {
        name: tensor
        for name, tensor in vars(owner).items()
        if isinstance(tensor, torch.Tensor) and (tensor is stored or tensor.device != target)
    }
    found = {name: _assignment(owner, name) for name in attributes}
    mine = next((found[name] for name, tensor in attributes.items() if tensor is stored), None)
    if mine is None:
        return None
    edits: list[Edit] = []
    for name, tensor in attributes.items():
        if found[name] is None or found[name][0].filename != mine[0].filename:
            continue
        statement = found[name][1]
        start, end = span(statement)
        value = span(statement.value)[0]
        if tensor.requires_grad:
            edits += [(value, value, f"{_nn(site)}.Parameter("), (end, end, ")")]
        else:
            edits += [(start, value, f"self.register_buffer({name!r}, "), (end, end, ")")]
    return make_fix(mine[0], edits, mine[1], where=f"`{type(owner).__name__}.__init__`")


def _register_list(site: Site, owner: nn.Module, stored: object) -> Fix | None:
    """Turn `self.layers = [...]` in `__init__` into `nn.ModuleList([...])` or the like."""
    kind = next((k for k in (nn.Module, nn.Parameter) if isinstance(stored, k)), None)
    for attribute, value in vars(owner).items():
        if attribute.startswith("_") or not isinstance(value, list | tuple | dict):
            continue
        elements = value.values() if isinstance(value, dict) else value
        if not any(element is stored for element in elements):
            continue
        found = _assignment(owner, attribute)
        if found is None or kind is None:
            return None
        source, statement = found
        container = f"{kind.__name__}{'Dict' if isinstance(value, dict) else 'List'}"
        start, end = span(statement.value)
        edits = [(start, start, f"{_nn(site)}.{container}("), (end, end, ")")]
        return make_fix(source, edits, statement, where=f"`{type(owner).__name__}.__init__`")
    return None


def _assignment(owner: nn.Module, attribute: str) -> tuple[Source, ast.Assign] | None:
    """Return `self.attribute = ...` in the `__init__` of the network's class or a base class."""
    for kind in type(owner).__mro__:
        init = vars(kind).get("__init__")
        if not isinstance(init, FunctionType) or is_library(init.__code__.co_filename):
            continue
        source = Source.of(init.__code__.co_filename, init.__globals__)
        for node in ast.walk(source.tree) if source else ():
            if isinstance(node, ast.FunctionDef) and node.lineno == init.__code__.co_firstlineno:
                for part in ast.walk(node):
                    if isinstance(part, ast.Assign) and [ast.unparse(t) for t in part.targets] == [
                        f"self.{attribute}"
                    ]:
                        return source, part
    return None


def _nn(site: Site) -> str:
    """Return the student's name for `torch.nn`."""
    return next((name for name, value in site.names.items() if value is nn), "torch.nn")
