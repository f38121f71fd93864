"""Mend a line that names a device which is not here: no GPU, no such number, no such name."""

from __future__ import annotations

import ast

import torch

from helpers.explain.contents import Operand
from helpers.explain.culprit import definition_of
from helpers.explain.device_names import as_device, device_text, with_index
from helpers.explain.editing import (
    Edit,
    can_be_assigned,
    replace_node,
    rewrite,
    span,
    takes_a_line_before,
    with_keyword,
)
from helpers.explain.names import value_of
from helpers.explain.operands import operands
from helpers.explain.remedy import Remedy
from helpers.explain.source import Site
from helpers.explain.wording import Wording

_CPU = torch.device("cpu")
_CHOICE = "'cuda' if torch.cuda.is_available() else 'cpu'"


def load(site: Site, wording: Wording) -> Remedy | None:
    """Say where to load what was saved from a GPU that is not here."""
    calls = [site.node, *ast.walk(site.statement)] if site.statement else []
    for call in calls:
        if not isinstance(call, ast.Call):
            continue
        name = ast.unparse(call.func).split(".")[-1]
        if name in ("load", "load_state_dict_from_url") and call.args:
            device = "'cpu'"
            if "is_available() is False" not in wording.text:
                device = device_text(site, with_index(torch.device("cuda")))
            sent = any(word.arg == "map_location" for word in call.keywords)
            saved = Operand(site.source.segment(call.args[0]), _CPU, call.args[0], moved=sent)
            edits = with_keyword(site.source, call, "map_location", device)
            return Remedy(rewrite(site.source, edits, site.statement), (saved,))
    return None


def wrong_device(site: Site, wording: Wording) -> Remedy | None:
    """Name a device that there is, where the line names one that there is not."""
    nodes = [site.node, *ast.walk(site.statement)] if site.statement else [site.node]
    call = next((node for node in nodes if isinstance(node, ast.Call)), None)
    if call is None:
        return None
    count = torch.cuda.device_count()
    text = device_text(site, torch.device("cuda:0") if count else _CPU)
    named = _device_argument(call)
    edits: list[Edit] = []
    places: tuple[Operand, ...] = ()
    if isinstance(call.func, ast.Attribute):
        places = tuple(o for o in operands(site) if not o.made)[:1]
        if call.func.attr == "cuda":
            device = as_device(value_of(named, site.names))
            text = repr(str(device)) if device is not None and device.type == "cpu" else text
            edits = [(span(call.func.value)[1], span(call)[1], f".to({text})")]
    if named is not None and not edits:
        edits = [replace_node(named, text)]
    here = ", ".join(["cpu", *(f"cuda:{i}" for i in range(min(count, 4)))])
    why = f"The devices that torch can use here: {here}."
    return Remedy(rewrite(site.source, edits, site.statement), places, why)


def _device_argument(call: ast.Call) -> ast.expr | None:
    named = next((word.value for word in call.keywords if word.arg == "device"), None)
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if named is None and call.args and method in ("to", "cuda", "device", "set_device"):
        return call.args[0]
    return named


def without_gpu(site: Site, wording: Wording) -> Remedy | None:
    """Make the line use the GPU where there is one and the CPU where there is none."""
    if site.statement is None or value_of(ast.Name("torch"), site.names) is not torch:
        return None
    return _chosen_by_name(site) or _chosen_here(site) or _asked_first(site)


def _chosen_by_name(site: Site) -> Remedy | None:
    """Mend the variable that names the GPU; where it came in as an argument, leave it."""
    for name in ast.walk(site.statement):
        if not (isinstance(name, ast.Name) and _is_gpu(value_of(name, site.names))):
            continue
        definition = definition_of(site, name.id)
        if definition is not None:
            edits = [replace_node(definition.value, _CHOICE)]
            where = f"line {definition.lineno}"
            return Remedy(rewrite(site.source, edits, definition, (), where))
        given = name.id in site.arguments
        if not given and can_be_assigned(site, name) and takes_a_line_before(site):
            before = (f"{name.id} = {_CHOICE}",)
            return Remedy(rewrite(site.source, [], site.statement, before))
    return None


def _chosen_here(site: Site) -> Remedy | None:
    """Put `device` in the place of "cuda" and of `.cuda()`, and choose it in a line before."""
    edits: list[Edit] = []
    for node in ast.walk(site.statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "cuda":
                edits.append((span(node.func.value)[1], span(node)[1], ".to(device)"))
        elif isinstance(node, ast.Constant) and _is_gpu(node.value):
            outer = site.source.parents(node)[0]
            if isinstance(outer, ast.Call | ast.keyword):
                edits.append(replace_node(node, "device"))
    if not (edits and takes_a_line_before(site)):
        return None
    return Remedy(rewrite(site.source, edits, site.statement, (f"device = {_CHOICE}",)))


def _asked_first(site: Site) -> Remedy | None:
    """Ask for a GPU before a statement that is of use with one only, as `synchronize()` is."""
    statement = site.statement
    alone = isinstance(statement, ast.Expr) and statement.end_lineno == statement.lineno
    if not (alone and takes_a_line_before(site)):
        return None
    if "torch.cuda." not in site.source.segment(statement):
        return None
    start = span(statement)[0]
    before = ("if torch.cuda.is_available():",)
    return Remedy(rewrite(site.source, [(start, start, "    ")], statement, before))


def _is_gpu(value: object) -> bool:
    if isinstance(value, str) and not value.startswith(("cuda", "mps", "xpu")):
        return False
    device = as_device(value) if isinstance(value, str | torch.device) else None
    return device is not None and device.type not in ("cpu", "meta")
