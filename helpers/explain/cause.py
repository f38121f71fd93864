"""Find the variable that is on the wrong device, and the line of the student's code to fix."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, replace

import torch
from torch import nn

from helpers.explain.operands import Operand, is_factory, operands
from helpers.explain.source import Site
from helpers.explain.values import as_device


@dataclass(frozen=True)
class DeviceMismatch:
    """A line that mixes two devices: `culprits` should be on `target`, where the `others` are."""

    site: Site
    target: torch.device
    culprits: tuple[Operand, ...]
    others: tuple[Operand, ...]


def find_mismatch(
    sites: list[Site], devices: tuple[str, ...] = (), *, certain: bool = False
) -> DeviceMismatch | None:
    """Return the mismatch that caused an error, in the line where it has to be fixed.

    The search starts at the innermost line with two devices. If its culprit was passed as an
    argument, the fix belongs in the caller's line; if the function created it, in this one.

    Args:
        sites: the sites in the student's code, innermost first.
        devices: the devices that the error's message names.
        certain: accept only mixes that torch rejects in every operation.
    """
    for depth, site in enumerate(sites):
        mismatch = mismatch_in(site, devices, certain=certain)
        if mismatch is None:
            continue
        for outer in sites[depth + 1 :]:
            cause = mismatch_in(outer) if mismatch.site.in_function else None
            if cause is None or not _came_from(mismatch, cause):
                break
            mismatch = replace(
                cause,
                culprits=_sort_used_first(cause.culprits, mismatch),
                others=_sort_used_first(cause.others, mismatch),
            )
        return mismatch
    return None


def mismatch_in(
    site: Site, devices: tuple[str, ...] = (), *, certain: bool = False
) -> DeviceMismatch | None:
    """Return the mismatch in the failing expression of `site`; None if everything is on one device.

    Tensors without dimensions, which torch accepts from the CPU in most operations, count only if
    nothing else explains the error, and never with `certain`.
    """
    if site.source is None or site.node is None:
        return None
    for node in dict.fromkeys((site.node, site.statement)):
        known, unknown = operands(replace(site, node=node))
        for pool in (known, _infer_unknown_device(known, unknown, devices)):
            group = [o for o in pool if not _is_accepted(o, pool)]
            if len({o.device for o in group}) > 1:
                return _make_mismatch(site, group)
    known = [] if certain else operands(site)[0]
    return _make_mismatch(site, known) if len({o.device for o in known}) > 1 else None


def _infer_unknown_device(
    known: list[Operand], unknown: list[Operand], devices: tuple[str, ...]
) -> list[Operand]:
    """Return `known` and the one operand of `unknown`, with its device inferred; [] if impossible.

    All known operands must be on one of the two devices that the message names; the unknown one is
    then on the other.

    If `x` is on cuda:0 in `x + load()`, and the message names cuda:0 and cpu, then `load()` is on
    the CPU.
    """
    places = {o.device for o in known if not _is_accepted(o, known)}
    named = set(map(as_device, devices)) - {None}
    types = {device.type for device in named}
    if len(unknown) != 1 or len(places) != 1 or len(named - places) != 1:
        return []
    if not {place.type for place in places} <= types:
        return []
    return [*known, replace(unknown[0], device=next(iter(named - places)))]


def _is_accepted(operand: Operand, pool: list[Operand]) -> bool:
    """Return whether torch accepts `operand` on the CPU: a scalar, or an index into a tensor."""
    if operand.device.type != "cpu":
        return False
    return operand.scalar or (operand.index and any(not o.index and o != operand for o in pool))


def _make_mismatch(site: Site, group: list[Operand]) -> DeviceMismatch:
    target = _target(group)
    culprits = tuple(o for o in group if o.device != target)
    return DeviceMismatch(site, target, culprits, tuple(o for o in group if o.device == target))


def _target(group: list[Operand]) -> torch.device:
    """Return the accelerator on which everything should be; if there are several, the network's."""
    if all(isinstance(o.holder, torch.optim.Optimizer) for o in group):
        return next((o.device for o in group if isinstance(o.value, nn.Parameter)), group[0].device)
    accelerators = [o for o in group if o.device.type != "cpu"]
    network = Counter(o.device for o in accelerators if isinstance(o.holder, nn.Module))
    return network.most_common(1)[0][0] if network else accelerators[0].device


def _sort_used_first(group: tuple[Operand, ...], inner: DeviceMismatch) -> tuple[Operand, ...]:
    """Return `group` sorted so that the tensors that the failing line uses come first."""
    used = {id(o.value) for o in (*inner.culprits, *inner.others)} - {id(None)}
    return tuple(sorted(group, key=lambda o: id(o.value) not in used))


def _came_from(inner: DeviceMismatch, outer: DeviceMismatch) -> bool:
    """Return whether the culprit of `inner` was passed in by the line of `outer`."""
    culprit = inner.culprits[0]
    argument_ids = {
        id(o.value) for c in outer.culprits for o in (c, *c.inputs) if o.value is not None
    }
    if isinstance(culprit.holder, nn.Module):
        return id(culprit.value) in argument_ids
    name = next((n.id for n in ast.walk(culprit.node) if isinstance(n, ast.Name)), "")
    if not set(inner.site.arguments) & _origins(inner.site, name):
        return False
    return id(culprit.value) in argument_ids or any(
        o.device == culprit.device and not isinstance(o.holder, nn.Module) for o in outer.culprits
    )


def _origins(site: Site, name: str) -> set[str]:
    """Return the variables that `name` was computed from; empty if the function created it."""
    origins: set[str] = set()
    queue = [name]
    while queue:
        name = queue.pop()
        definition = None if name in origins else site.definition_of(name)
        origins.add(name)
        parts = list(ast.walk(definition.value)) if definition else []
        if any(is_factory(site, part) for part in parts):
            return set()
        queue += [part.id for part in parts if isinstance(part, ast.Name)]
    return origins
