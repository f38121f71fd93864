"""Mend a line whose random generator is on another device than its numbers."""

from __future__ import annotations

import ast

import torch

from helpers.explain.contents import Operand
from helpers.explain.culprit import definition_of
from helpers.explain.device_names import as_device, device_text, with_index
from helpers.explain.editing import (
    can_be_assigned,
    replace_node,
    rewrite,
    takes_a_line_before,
    with_keyword,
)
from helpers.explain.names import value_of
from helpers.explain.operands import operands
from helpers.explain.remedy import Remedy
from helpers.explain.source import Site
from helpers.explain.wording import Wording


def generator(site: Site, wording: Wording) -> Remedy | None:
    """Make the generator on the device that the line draws its numbers on."""
    found = operands(site)
    dice = next((o for o in found if isinstance(o.value, torch.Generator)), None)
    if dice is None:
        return None
    target, text = torch.device("cpu"), "'cpu'"
    if dice.device.type == "cpu":
        words = getattr(site.node, "keywords", ())
        word = next((word.value for word in words if word.arg == "device"), None)
        named = as_device(value_of(word, site.names)) if word is not None else None
        tensors = [o for o in found if o.device.type != "cpu"]
        target = named or (tensors[0].device if tensors else with_index(torch.device("cuda")))
        text = site.source.segment(word) if named else device_text(site, target)
    places = (dice, Operand("", target, site.node))
    definition = definition_of(site, dice.text)
    for call in ast.walk(definition.value) if definition else ():
        if isinstance(call, ast.Call) and value_of(call.func, site.names) is torch.Generator:
            edits = with_keyword(site.source, call, "device", text)
            where = f"line {call.lineno}"
            if call.args:
                edits = [replace_node(call.args[0], text)]
            return Remedy(rewrite(site.source, edits, definition, (), where), places)
    made = f"torch.Generator(device={text}).manual_seed({dice.value.initial_seed()})"
    named = isinstance(dice.node, ast.Name) and can_be_assigned(site, dice.node)
    if named and takes_a_line_before(site):
        line = f"{dice.text} = {made}"
        return Remedy(rewrite(site.source, [], site.statement, (line,)), places)
    return Remedy(rewrite(site.source, [replace_node(dice.node, made)], site.statement), places)
