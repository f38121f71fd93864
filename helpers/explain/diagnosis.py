"""Explain a device error: recognize it, find its cause, and build the explanation."""

from __future__ import annotations

import ast
import re
from functools import reduce

import torch
from torch import nn

from helpers.explain import other_fixes
from helpers.explain.cause import find_mismatch
from helpers.explain.edits import Fix
from helpers.explain.explanation import Explanation, join_with_and
from helpers.explain.messages import MEMORY, MISMATCH, Kind, Message, recognize, recognize_unknown
from helpers.explain.mismatch_fixes import advise
from helpers.explain.operands import Operand
from helpers.explain.source import Site, is_raised_by_python_code, student_sites
from helpers.explain.values import value_of, with_comprehension_variables
from helpers.language import translate

_ADVISERS = {
    "numpy": other_fixes.copy_to_cpu,
    "pin": other_fixes.copy_to_cpu,
    "must-be-cpu": other_fixes.copy_integers_to_cpu,
    "generator": other_fixes.create_generator,
    "load": other_fixes.add_map_location,
    "ordinal": other_fixes.replace_missing_device,
    "name": other_fixes.replace_missing_device,
}
_MAX_VARIABLES = 3  # that an out-of-memory explanation names
_MIN_SIZE = 1 << 20  # bytes; smaller variables do not help to explain the error


def diagnose(error: BaseException) -> Explanation | None:
    """Return the explanation of `error`; None if it is not a device error."""
    message = recognize(error)
    if message is None:
        cause = error.__cause__
        return _unknown_message(error) or (diagnose(cause) if cause is not None else None)
    kind, sites = message.kind, sites_of(error)
    if kind is MISMATCH:
        return _mismatch_explanation(sites, message) or _unknown_cause(sites, message)
    if kind is MEMORY:
        return _memory_explanation(sites, message)
    adviser = _ADVISERS.get(kind.name)
    for site in sites if adviser else ():
        advice = adviser(site, message) if site.source and site.node else None
        if advice is not None:
            places = _places(kind, advice.places, 2)
            return _explanation(
                kind, [site], places, advice.fix, why=translate(kind.why) or advice.why
            )
    return _explanation(kind, sites) if kind.advice else _unknown_cause(sites, message)


def sites_of(error: BaseException) -> list[Site]:
    """Return the sites in the student's code that `error` passed through, innermost first."""
    return [with_comprehension_variables(site) for site in student_sites(error.__traceback__)]


def _unknown_message(error: BaseException) -> Explanation | None:
    """Explain an error with an unknown message about devices, if its line mixes two devices."""
    message = recognize_unknown(error) if isinstance(error, Exception) else None
    sites = sites_of(error) if message else []
    if not sites or is_raised_by_python_code(error, sites[0]):
        return None
    return _mismatch_explanation(sites, message, certain=True)


def _mismatch_explanation(
    sites: list[Site], message: Message, *, certain: bool = False
) -> Explanation | None:
    mismatch = find_mismatch(sites, message.devices, certain=certain)
    if mismatch is None:
        return None
    advice = advise(mismatch, dtypes_differ=message.dtypes_differ)
    places = _places(MISMATCH, mismatch.culprits, 2) + _places(MISMATCH, mismatch.others, 1)
    return _explanation(MISMATCH, [mismatch.site], places, advice.fix, why=advice.why)


def _memory_explanation(sites: list[Site], message: Message) -> Explanation:
    """Explain how much of the GPU's memory is in use, and which variables use most of it."""
    if not sites or not torch.cuda.is_available():
        return _explanation(MEMORY, sites)
    number = re.search(r"GPU (\d+)", message.text)
    device = torch.device("cuda", int(number[1]) if number else torch.cuda.current_device())
    sizes: dict[str, int] = {}
    for name, value in [pair for site in sites for pair in site.names.items()]:
        values = value[:1000] if isinstance(value, list | tuple) else [value]
        if isinstance(value, nn.Module):
            values = [*value.parameters(), *value.buffers()]
        tensors = {id(t): t for t in values if isinstance(t, torch.Tensor) and t.device == device}
        size = sum(t.nbytes for t in tensors.values())
        if size >= _MIN_SIZE and not name.startswith("_"):
            sizes[name] = max(size, sizes.get(name, 0))
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:_MAX_VARIABLES]
    places = tuple(
        (name, translate("uses {size}", size=_size_text(size))) for name, size in largest
    )
    used = _size_text(torch.cuda.memory_allocated(device))
    why = translate(
        "The line needs more memory than is free: {used} is in use on {device}.",
        used=used,
        device=device,
    )
    return _explanation(MEMORY, sites, places, why=why)


def _size_text(count: float) -> str:
    """Return a number of bytes with a unit: "1.5 GiB"."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 1 << power:
            return f"{count / (1 << power):.1f} {unit}"
    return translate("{count:.0f} bytes", count=count)


def _unknown_cause(sites: list[Site], message: Message) -> Explanation:
    """Return an explanation without a culprit, with advice on how to find it."""
    why = translate(
        "This is a device error, but the explainer cannot tell which of your variables causes it."
    )
    if message.devices:
        devices = reduce(join_with_and, message.devices[:2])
        why = translate(
            "This is a device error ({devices}), but the explainer cannot tell which of your "
            "variables causes it.",
            devices=devices,
        )
    names = ", ".join(_names_in(sites[0]) if sites else []) or "net, x"
    advice = translate(
        "List the devices: `from helpers.devices import where`, then `where({names})`.", names=names
    )
    return _explanation(message.kind, sites, why=why, advice=(advice,))


def _names_in(site: Site) -> list[str]:
    kinds = (torch.Tensor, nn.Module, torch.optim.Optimizer)
    nodes = ast.walk(site.statement) if site.statement else ()
    names = dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name))
    return [name for name in names if isinstance(value_of(ast.Name(name), site.names), kinds)]


def _places(kind: Kind, operands: tuple[Operand, ...], limit: int) -> tuple[tuple[str, str], ...]:
    """Return descriptions of up to `limit` operands, one for each network or list."""
    by_node: dict[str, Operand] = {}
    for operand in operands:
        by_node.setdefault(ast.dump(operand.node), operand)
    places = [_place(kind, operand) for operand in list(by_node.values())[:limit]]
    hidden_count = len(by_node) - limit
    if hidden_count > 0 and limit > 1:
        name, what = places[-1]
        places[-1] = (name, translate("{what}, and {more} more", what=what, more=hidden_count))
    return tuple(places)


def _place(kind: Kind, operand: Operand) -> tuple[str, str]:
    if kind.name == "load":
        if operand.moved:
            return operand.text, translate("is loaded to a GPU")
        return operand.text, translate("was saved on a GPU")
    if not operand.text:
        return "", translate("the numbers are drawn on {device}", device=operand.device)
    return operand.text, translate("is on {device}", device=operand.device)


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
        advice = tuple(map(translate, kind.advice))
    why = why or translate(kind.why)
    return Explanation(translate(kind.title), line, where, places, why, fix, advice)
