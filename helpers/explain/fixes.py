"""Build the fix for each kind of device error: an edit of the student's line, or a line before it.

`fix_mismatch` fixes a line with two devices; `copy_to_cpu` fixes the kinds of error in `CPU_ONLY`.
"""

import ast
import difflib
import re
import tomllib
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from helpers.explain.mismatch import DeviceMismatch, Operand, device_argument, is_factory, operands
from helpers.explain.source import MISSING, CodeFrame, Source, as_device
from helpers.language import translate

_WIDTH = 96
_CPU = torch.device("cpu")
# The kinds of error in `diagnosis.toml` whose line needs tensors on the CPU.
CPU_ONLY = ("numpy", "pin", "must-be-cpu")
_MOVE_ELEMENTS = {
    list: "{name} = [item.to({to}) for item in {name}]",
    tuple: "{name} = tuple(item.to({to}) for item in {name})",
    dict: "{name} = {{key: value.to({to}) for key, value in {name}.items()}}",
}
_REASONS = tomllib.loads(Path(__file__).with_name("reasons.toml").read_text(encoding="utf-8"))
_WHY = {row["name"]: row["why"] for row in _REASONS["reasons"]}
Edits = dict[ast.AST, str]  # the new code of each node


@dataclass(frozen=True)
class Fix:
    """A change to one cell or file."""

    text: str  # the whole cell or file after the change
    shown: list[tuple[str, str]]  # labels such as "Replace:", and the old and the new code


@dataclass(frozen=True)
class Advice:
    """A fix, if one was found; the operands, culprit first; and why torch raises the error."""

    fix: Fix | None
    places: Sequence[Operand] = ()
    why: str = ""


def _why(reason: str, **values: object) -> str:
    """Return the text of a reason in `reasons.toml`, in the student's language."""
    text = _WHY[reason]
    return translate(text, **values)


def _make_fix(
    source: Source, edits: Edits, statement: ast.stmt, before: Sequence[str] = (), where: str = ""
) -> Fix | None:
    """Combine edits of `statement` and lines to add before it into one fix.

    Returns None if there is nothing to change, or if the result would not be valid Python, which
    can happen in f-strings.
    """
    text = source.text
    for node in sorted(edits, key=source.span, reverse=True):
        start, end = source.span(node)
        text = text[:start] + edits[node] + text[end:]
    new_source = Source.parse(source.filename, text)
    if not (edits or before) or new_source is None:
        return None
    diff = list(difflib.ndiff(source.lines, new_source.lines))
    old, new = ("\n".join(d[2:].strip() for d in diff if d.startswith(sign)) for sign in "-+")
    if edits and statement.end_lineno != statement.lineno and not hasattr(statement, "body"):
        start = (statement.lineno, statement.col_offset)
        statements = [n for n in ast.walk(new_source.tree) if isinstance(n, ast.stmt)]
        changed = next(n for n in statements if (n.lineno, n.col_offset) == start)
        pair = ast.unparse(statement), ast.unparse(changed)
        old, new = pair if max(map(len, pair)) <= _WIDTH else (old, new)
    number, added = statement.lineno - 1, "\n".join(before)
    line = source.lines[number]
    indent = line[: len(line) - len(line.lstrip())]
    lines = new_source.lines
    text = "\n".join([*lines[:number], *(indent + line for line in before), *lines[number:]])
    if not edits:
        return Fix(text, [(translate("Add before this line:"), added)])
    label = translate("Replace in {where}:", where=where) if where else translate("Replace:")
    return Fix(text, [(label, old), (translate("with:"), "\n".join([*before, new]))])


def _with_method(source: Source, node: ast.AST, method: str) -> str:
    """Return the code that calls a method on `node`: `x.cpu()`, or `(a + b).cpu()`."""
    code = source.segment(node)
    is_simple = isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.List)
    return f"{code}{method}" if is_simple else f"({code}){method}"


def _with_keyword(source: Source, call: ast.Call, name: str, value: str) -> Edits:
    """Return the edit that adds the argument `name=value` to a call, or changes its value."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return {keyword.value: value}
    code = source.segment(call)
    if code.startswith("torch.from_numpy("):  # it has no argument `device`
        return {call: f"{code}.to({value})"}
    code = code[:-1].rstrip(", ")
    return {call: f"{code}{'' if code.endswith('(') else ', '}{name}={value})"}


def _device_code(frame: CodeFrame, target: torch.device, names: Iterable[str] = ()) -> str:
    """Return code for `target`: the student's `device`, else `x.device`, else `'cuda:0'`.

    `x` is the first of `names` that is a local variable with a tensor on `target`.
    """

    def variable(scope: Mapping[str, object]) -> str:
        for name in sorted(scope, key=lambda name: name != "device"):
            value = scope[name]
            is_candidate = isinstance(value, torch.device) or name.lower() in ("device", "dev")
            if is_candidate and not name.startswith("_") and as_device(value) == target:
                return name
        return ""

    *local, shared = frame.names.maps
    code = variable(ChainMap(*(scope for scope in local if scope is not shared)))
    if not code and frame.in_function:
        tensors = (n for n in names if isinstance(frame.names.get(n), torch.Tensor))
        code = next((f"{n}.device" for n in tensors if frame.names[n].device == target), "")
    return code or variable(shared) or repr(str(target))


def fix_mismatch(mismatch: DeviceMismatch, *, dtypes_differ: bool = False) -> Advice:
    """Return the fix for a line that mixes devices, where the tensor was created if possible."""
    culprit, frame = mismatch.culprits[0], mismatch.frame
    if isinstance(culprit.holder, torch.optim.Optimizer):
        name = frame.source.segment(culprit.node)
        before = [f"{name}.load_state_dict({name}.state_dict())"]
        fix = _make_fix(frame.source, {}, frame.statement, before)
        return Advice(fix, why=_why("optimizer state"))
    is_only_one = len({ast.dump(o.node) for o in mismatch.culprits}) == 1
    advice = None
    if is_only_one and culprit.holder is None and isinstance(culprit.node, ast.Name):
        advice = _fix_dropped_move(mismatch, culprit.text) or _fix_creation(mismatch, culprit)
    if is_only_one or all(o.text.startswith("self.") for o in mismatch.culprits):
        advice = advice or _fix_unregistered(frame, culprit)
    why = _why("data types differ") if dtypes_differ else ""
    return advice or Advice(_move(mismatch, dtypes_differ), why=why)


def _fix_dropped_move(mismatch: DeviceMismatch, name: str) -> Advice | None:
    """Return a fix for the line `x.to(device)` above, whose result is not assigned."""
    frame = mismatch.frame
    for node in frame.nodes_above(ast.Expr):
        match node.value:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=moved), attr="to" | "cuda")) if (
                moved == name and device_argument(frame, node.value) == mismatch.target
            ):
                call = frame.source.segment(node.value)
                why = _why("dropped move", call=call, name=name)
                where = translate("line {number}", number=node.lineno)
                edits = {node: f"{name} = {call}"}
                return Advice(_make_fix(frame.source, edits, node, where=where), why=why)
    return None


def _fix_creation(mismatch: DeviceMismatch, culprit: Operand) -> Advice | None:
    frame, text = mismatch.frame, culprit.text
    definition = frame.definition_of(text)
    if not (frame.in_function or culprit.is_trainable_leaf) or definition is None:
        return None
    calls = [part for part in ast.walk(definition.value) if is_factory(frame, part)]
    if len(calls) != 1:
        return None
    device = _device_code(frame, mismatch.target, frame.arguments)
    edits = _with_keyword(frame.source, calls[0], "device", device)
    where = translate("line {number}", number=definition.lineno)
    function = frame.frame.f_code.co_name
    reason = "created in forward" if function == "forward" else "created in function"
    why = _why(reason if frame.in_function else "trained leaf", function=function, text=text)
    return Advice(_make_fix(frame.source, edits, definition, where=where), why=why)


def _fix_unregistered(frame: CodeFrame, culprit: Operand) -> Advice | None:
    """Return a fix that registers a tensor or module that its network's `.to()` does not move."""
    owner = frame.names.get("self")
    stored = culprit.holder if isinstance(culprit.holder, nn.Module) else culprit.value
    if not isinstance(owner, nn.Module) or any(m is stored for m in owner.modules()):
        return None
    kind = next((k for k in ("Module", "Parameter") if isinstance(stored, getattr(nn, k))), "")
    torch_nn = next((name for name, value in frame.names.items() if value is nn), "torch.nn")
    classes = [p for p in frame.source.parents(frame.node) if isinstance(p, ast.ClassDef)]
    for node in (n for p in classes for n in ast.walk(p) if isinstance(n, ast.Assign)):
        name = ast.unparse(node.targets[0]).partition("self.")[2]
        value, code = vars(owner).get(name), frame.source.segment(node.value)
        elements = value.values() if isinstance(value, dict) else value
        if isinstance(value, torch.Tensor) and value is stored:
            why = _why("plain attribute")
            edits = {node: f"self.register_buffer({name!r}, {code})"}
            if value.requires_grad:
                edits = {node.value: f"{torch_nn}.Parameter({code})"}
        elif kind and isinstance(value, list | dict) and any(e is stored for e in elements):
            why = _why("plain container")
            container = f"{kind}{'Dict' if isinstance(value, dict) else 'List'}"
            edits = {node.value: f"{torch_nn}.{container}({code})"}
        else:
            continue
        where = f"`{type(owner).__name__}.__init__`"
        return Advice(_make_fix(frame.source, edits, node, where=where), why=why)
    return None


def _move(mismatch: DeviceMismatch, dtypes_differ: bool) -> Fix | None:
    frame, source = mismatch.frame, mismatch.frame.source
    to = _device_code(frame, mismatch.target, [o.text for o in mismatch.already_on_target])
    dtypes = [str(o.value.dtype) for o in mismatch.already_on_target if o.value is not None]
    to = ", ".join([to, *dtypes[:1]]) if dtypes_differ else to
    before: dict[str, None] = {}
    edits: Edits = {}
    for operand in (inner for o in mismatch.culprits for inner in _expand(o, mismatch.target)):
        node, holder = operand.node, operand.holder
        line = _line_before(frame, operand, to) if _can_insert_line_before(frame) else ""
        if line:
            before[line] = None
        elif operand.created:
            edits |= _with_keyword(source, node, "device", to)
        elif operand.moved:  # x.to(device), where `device` is the wrong one
            edits[node] = f"{source.segment(node.func.value)}.to({to})"
        elif holder is None or isinstance(holder, nn.Module):
            edits[node] = _with_method(source, node, f".to({to})")
        else:
            return None
    return _make_fix(source, edits, frame.statement, [*before])


def _expand(operand: Operand, target: torch.device) -> list[Operand]:
    """Return what must move: for a result such as `net(x)`, the network and its input."""
    inputs = [o for inner in operand.inputs for o in _expand(inner, target)]
    return [o for o in inputs if o.device != target and not o.is_scalar] or [operand]


def _line_before(frame: CodeFrame, operand: Operand, to: str) -> str:
    node, holder, name = operand.node, operand.holder, frame.source.segment(operand.node)
    can_assign = isinstance(node, ast.Name) and _can_assign(frame, node)
    if isinstance(holder, nn.Module):
        return f"{name}.to({to})" if frame.value_of(node) is not MISSING else ""
    if isinstance(holder, list | tuple | dict):
        elements = holder.values() if isinstance(holder, dict) else holder
        if can_assign and all(isinstance(element, torch.Tensor) for element in elements):
            pattern = next(p for kind, p in _MOVE_ELEMENTS.items() if isinstance(holder, kind))
            return pattern.format(name=name, to=to)
        return "" if isinstance(holder, tuple) else f"{operand.text} = {operand.text}.to({to})"
    if can_assign and not operand.is_trainable_leaf:
        return f"{name} = {name}.to({to})"
    # The line would write into a moved copy of `x.total += y`, `x[0] = y` or `x.grad.zero_()`.
    outer = next(frame.source.parents(node))
    is_modified = (
        any(isinstance(getattr(n, "ctx", None), ast.Store) for n in (node, outer))
        or getattr(outer, "attr", "").endswith("_")
        or getattr(outer, "arg", "") == "out"
    )
    is_place = isinstance(node, ast.Attribute | ast.Subscript)
    return f"{name} = {name}.to({to})" if is_place and is_modified else ""


def _can_insert_line_before(frame: CodeFrame) -> bool:
    statement, line = frame.statement, frame.source.lines[frame.statement.lineno - 1]
    is_first_on_line = not line.encode()[: statement.col_offset].strip()
    is_block = isinstance(statement, ast.While | ast.FunctionDef | ast.ClassDef)
    return is_first_on_line and not is_block and not line.lstrip().startswith("elif")


def _can_assign(frame: CodeFrame, name: ast.Name) -> bool:
    """Return whether `name = ...` before the failing line changes what the line uses."""
    binders = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    code = frame.frame.f_code
    is_local = not frame.in_function or name.id in code.co_varnames + code.co_cellvars
    return is_local and not any(isinstance(p, binders) for p in frame.source.parents(name))


def copy_to_cpu(frame: CodeFrame, text: str) -> Advice | None:
    """Return a fix that copies to the CPU the tensors that NumPy, pinning or `lengths` needs."""
    known = [o for o in operands(frame, frame.node) if o.device]
    culprits = [o for o in known if o.device != _CPU]
    method = getattr(getattr(frame.node, "func", None), "attr", "")
    if method in ("numpy", "pin_memory", "apply_", "map_"):
        node, inputs = frame.node.func.value, [i for o in culprits for i in (o, *o.inputs)]
        named = re.search(r"(cuda|mps|xpu|meta)(:\d+)?", text)
        device = culprits[0].device if culprits else as_device(named[0])
        culprits = [Operand(frame.source.segment(node), device, node, inputs=tuple(inputs))]
    elif "numpy" not in text:  # `lengths`: torch needs only the integers there
        tensors = [o for o in culprits if isinstance(o.value, torch.Tensor)]
        culprits = [o for o in tensors if not o.value.is_floating_point()][-1:] or culprits
    edits: Edits = {}
    for operand in culprits:
        values = [o.value for o in (operand, *operand.inputs)]
        has_graph = any(isinstance(v, torch.Tensor) and v.requires_grad for v in values)
        suffix = ".detach().cpu()" if has_graph and method != "pin_memory" else ".cpu()"
        edits[operand.node] = _with_method(frame.source, operand.node, suffix)
        if isinstance(operand.holder, list | tuple):
            items = frame.source.segment(operand.node)
            edits[operand.node] = f"[item{suffix} for item in {items}]"
    return Advice(_make_fix(frame.source, edits, frame.statement), culprits) if culprits else None
