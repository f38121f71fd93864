"""From an error to its explanation: recognise it, place it, and write what the student reads."""

from __future__ import annotations

import ast

import torch
from torch import nn

from helpers.explain.box import Explanation
from helpers.explain.comprehensions import with_variables
from helpers.explain.contents import Operand
from helpers.explain.culprit import find_mix
from helpers.explain.editing import Cure
from helpers.explain.generators import generator
from helpers.explain.memory import device_that_is_full, largest, reason, size_text, smaller
from helpers.explain.missing_devices import load, without_gpu, wrong_device
from helpers.explain.mixing import advise
from helpers.explain.names import value_of
from helpers.explain.source import Site, is_said_by_hand, student_sites
from helpers.explain.texts import ADVICE, TITLES, WHYS
from helpers.explain.to_host import lengths_to_host, to_host
from helpers.explain.wording import Wording, mentions_devices, recognise

_REMEDIES = {
    "numpy": to_host,
    "pin": to_host,
    "must-be-cpu": lengths_to_host,
    "generator": generator,
    "load": load,
    "no-gpu": without_gpu,
    "ordinal": wrong_device,
    "name": wrong_device,
    "method": wrong_device,
}
# What these errors mean is plain, and helps, where the line itself could not be placed.
_PLAIN = ("no-gpu", "ordinal", "name", "fork", "assert", "cuda")


def diagnose(error: BaseException) -> Explanation | None:
    """Explain `error`; None if it is no device error."""
    wording = recognise(error)
    if wording is None:
        cause = error.__cause__
        return _unknown_wording(error) or (diagnose(cause) if cause is not None else None)
    kind = wording.kind
    sites = sites_of(error)
    if kind == "mix":
        return _mix(sites, wording) or _honest(sites, wording)
    if kind == "memory":
        return _memory(sites, error)
    for site in sites:
        if site.source is None or site.node is None:
            continue
        remedy = _REMEDIES[kind](site, wording) if kind in _REMEDIES else None
        if remedy is not None:
            places = _listed(kind, remedy.places, 2)
            why = WHYS.get(kind, remedy.why)
            return _explanation(kind, [site], places, remedy.cure, why=why)
    return _explanation(kind, sites) if kind in _PLAIN else _honest(sites, wording)


def sites_of(error: BaseException) -> list[Site]:
    """List the student's places that `error` passed through, the innermost first."""
    return [with_variables(site) for site in student_sites(error.__traceback__)]


def _unknown_wording(error: BaseException) -> Explanation | None:
    """Explain an error that speaks of devices in words not known here, if two meet in its line."""
    wording = mentions_devices(error) if isinstance(error, Exception) else None
    if wording is None:
        return None
    sites = sites_of(error)
    if not sites or is_said_by_hand(error, sites[0]):
        return None  # the student's own words or this package's, and none of torch's
    return _mix(sites, wording, sure=True)


def _mix(sites: list[Site], wording: Wording, *, sure: bool = False) -> Explanation | None:
    finding = find_mix(sites, wording.devices, sure=sure)
    if finding is None:
        return None
    remedy = advise(finding, other_type=wording.other_type)
    places = _listed("mix", finding.culprits, 2) + _listed("mix", finding.settled, 1)
    return _explanation("mix", [finding.site], places, remedy.cure, why=remedy.why)


def _listed(kind: str, operands: tuple[Operand, ...], most: int) -> tuple[tuple[str, str], ...]:
    """List what is where, up to `most` of them; of a network or a list, one tensor."""
    one_each: dict[str, Operand] = {}
    for operand in operands:
        one_each.setdefault(ast.dump(operand.node), operand)
    places = [_place(kind, operand) for operand in list(one_each.values())[:most]]
    more = len(one_each) - most
    if more > 0 and most > 1:
        name, what = places[-1]
        places[-1] = (name, f"{what}, and {more} more")
    return tuple(places)


def _place(kind: str, operand: Operand) -> tuple[str, str]:
    if kind == "load":
        return operand.text, "is sent to a GPU" if operand.moved else "was saved on a GPU"
    if not operand.text:
        return "", f"the numbers are drawn on {operand.device}"
    return operand.text, f"is on {operand.device}"


def _memory(sites: list[Site], error: BaseException) -> Explanation:
    """Say what of the student's takes the GPU's memory."""
    device = device_that_is_full(str(error))
    if not sites or device is None:
        return _explanation("memory", sites)
    sizes = largest(sites, device)
    places = tuple((name, f"takes {size_text(size)} of it") for name, size in sizes)
    cure = smaller(sites[0], error) if sites[0].source else None
    return _explanation("memory", sites, places, cure, why=reason(str(error), device))


def _honest(sites: list[Site], wording: Wording) -> Explanation:
    """Say that this is a device error, and that its variable could not be found."""
    devices = " and ".join(wording.devices[:2])
    why = (
        f"This is a device error{f' ({devices})' if devices else ''}, but which of your variables "
        "it comes from could not be found out."
    )
    names = ", ".join(_names_in(sites[0]) if sites else []) or "net, x"
    advice = (f"See what is where: `from helpers.devices import where`, then `where({names})`.",)
    return _explanation(wording.kind, sites, why=why, advice=advice)


def _names_in(site: Site) -> list[str]:
    kinds = (torch.Tensor, nn.Module, torch.optim.Optimizer)
    found = ast.walk(site.statement) if site.statement else ()
    names = dict.fromkeys(node.id for node in found if isinstance(node, ast.Name))
    return [name for name in names if isinstance(value_of(ast.Name(name), site.names), kinds)]


def _explanation(
    kind: str,
    sites: list[Site],
    places: tuple[tuple[str, str], ...] = (),
    cure: Cure | None = None,
    *,
    why: str = "",
    advice: tuple[str, ...] = (),
) -> Explanation:
    """Put an explanation together; the line is that of the first of `sites`."""
    line, where = "", ""
    if sites and sites[0].line:
        line, where = sites[0].line, sites[0].where
    if not advice and cure is None:
        advice = ADVICE.get(kind, ())
    return Explanation(
        kind, TITLES[kind], line, where, places, why or WHYS.get(kind, ""), cure, advice
    )
