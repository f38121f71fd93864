"""Explain a device error: recognize it, find its cause, and write its box."""

from __future__ import annotations

import ast

import torch
from torch import nn

from helpers.explain import other_fixes
from helpers.explain.box import ADVICE, REASONS, TITLES, Explanation
from helpers.explain.cause import find_mix
from helpers.explain.edits import Fix
from helpers.explain.fixes import advise
from helpers.explain.memory import full_device, largest_variables, memory_reason, size_text
from helpers.explain.messages import Kind, Message, mentions_devices, recognize
from helpers.explain.places import Operand
from helpers.explain.source import Site, is_raised_by_python_code, student_sites
from helpers.explain.values import value_of, with_comprehension_variables

_ADVISERS = {
    Kind.NUMPY: other_fixes.copy_to_cpu,
    Kind.PIN: other_fixes.copy_to_cpu,
    Kind.MUST_BE_CPU: other_fixes.copy_integers_to_cpu,
    Kind.GENERATOR: other_fixes.create_generator,
    Kind.LOAD: other_fixes.load_elsewhere,
    Kind.NO_GPU: other_fixes.choose_device,
    Kind.ORDINAL: other_fixes.name_existing_device,
    Kind.NAME: other_fixes.name_existing_device,
    Kind.CUDA_METHOD: other_fixes.name_existing_device,
}
# The meaning of these errors is clear and helps even if the cause in the line is not known.
_CLEAR = (Kind.NO_GPU, Kind.ORDINAL, Kind.NAME, Kind.FORK, Kind.ASSERT, Kind.CUDA)


def diagnose(error: BaseException) -> Explanation | None:
    """Return the explanation of `error`; None if it is not a device error."""
    message = recognize(error)
    if message is None:
        cause = error.__cause__
        return _unknown_message(error) or (diagnose(cause) if cause is not None else None)
    kind, sites = message.kind, sites_of(error)
    if kind == Kind.MIX:
        return _mix(sites, message) or _unknown_cause(sites, message)
    if kind == Kind.MEMORY:
        return _memory(sites, str(error))
    for site in sites:
        if kind not in _ADVISERS or site.source is None or site.node is None:
            continue
        advice = _ADVISERS[kind](site, message)
        if advice is not None:
            places = _places(kind, advice.places, 2)
            why = REASONS.get(kind, advice.why)
            return _explanation(kind, [site], places, advice.fix, why=why)
    return _explanation(kind, sites) if kind in _CLEAR else _unknown_cause(sites, message)


def sites_of(error: BaseException) -> list[Site]:
    """Return the student's places that `error` passed through, the innermost first."""
    return [with_comprehension_variables(site) for site in student_sites(error.__traceback__)]


def _unknown_message(error: BaseException) -> Explanation | None:
    """Explain an error with an unknown message about devices, if its line has two devices."""
    message = mentions_devices(error) if isinstance(error, Exception) else None
    sites = sites_of(error) if message else []
    if not sites or is_raised_by_python_code(error, sites[0]):
        return None
    return _mix(sites, message, certain=True)


def _mix(sites: list[Site], message: Message, *, certain: bool = False) -> Explanation | None:
    mix = find_mix(sites, message.devices, certain=certain)
    if mix is None:
        return None
    advice = advise(mix, dtypes_differ=message.dtypes_differ)
    places = _places(Kind.MIX, mix.culprits, 2) + _places(Kind.MIX, mix.others, 1)
    return _explanation(Kind.MIX, [mix.site], places, advice.fix, why=advice.why)


def _memory(sites: list[Site], text: str) -> Explanation:
    device = full_device(text)
    if not sites or device is None:
        return _explanation(Kind.MEMORY, sites)
    largest = largest_variables(sites, device)
    places = tuple((name, f"uses {size_text(size)}") for name, size in largest)
    return _explanation(Kind.MEMORY, sites, places, why=memory_reason(text, device))


def _unknown_cause(sites: list[Site], message: Message) -> Explanation:
    """Say that this is a device error whose variable is not known, and how to find it."""
    devices = " and ".join(message.devices[:2])
    why = (
        f"This is a device error{f' ({devices})' if devices else ''}, but the explainer cannot "
        "tell which of your variables causes it."
    )
    names = ", ".join(_names_in(sites[0]) if sites else []) or "net, x"
    advice = (f"List the devices: `from helpers.devices import where`, then `where({names})`.",)
    return _explanation(message.kind, sites, why=why, advice=advice)


def _names_in(site: Site) -> list[str]:
    kinds = (torch.Tensor, nn.Module, torch.optim.Optimizer)
    found = ast.walk(site.statement) if site.statement else ()
    names = dict.fromkeys(node.id for node in found if isinstance(node, ast.Name))
    return [name for name in names if isinstance(value_of(ast.Name(name), site.names), kinds)]


def _places(kind: Kind, operands: tuple[Operand, ...], most: int) -> tuple[tuple[str, str], ...]:
    """Describe up to `most` operands, one for each network or list."""
    one_each: dict[str, Operand] = {}
    for operand in operands:
        one_each.setdefault(ast.dump(operand.node), operand)
    places = [_place(kind, operand) for operand in list(one_each.values())[:most]]
    more = len(one_each) - most
    if more > 0 and most > 1:
        name, what = places[-1]
        places[-1] = (name, f"{what}, and {more} more")
    return tuple(places)


def _place(kind: Kind, operand: Operand) -> tuple[str, str]:
    if kind == Kind.LOAD:
        return operand.text, "is loaded to a GPU" if operand.moved else "was saved on a GPU"
    if not operand.text:
        return "", f"the numbers are drawn on {operand.device}"
    return operand.text, f"is on {operand.device}"


def _explanation(
    kind: Kind,
    sites: list[Site],
    places: tuple[tuple[str, str], ...] = (),
    fix: Fix | None = None,
    *,
    why: str = "",
    advice: tuple[str, ...] = (),
) -> Explanation:
    """Build an explanation for the line of the first of `sites`."""
    line, where = (sites[0].line, sites[0].where) if sites and sites[0].line else ("", "")
    if not advice and fix is None:
        advice = ADVICE.get(kind, ())
    why = why or REASONS.get(kind, "")
    return Explanation(kind, TITLES[kind], line, where, places, why, fix, advice)
