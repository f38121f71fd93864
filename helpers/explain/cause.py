"""Decide which of the student's variables is on the wrong device, and in which of their lines."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, replace

import torch
from torch import nn

from helpers.explain.places import (
    MOVES,
    NOT_TENSORS,
    Operand,
    calls_torch,
    is_factory,
    operands,
    unknown_operands,
)
from helpers.explain.source import Site
from helpers.explain.values import as_device

_PASS_RESULT_ON = (
    ast.Attribute,
    ast.Subscript,
    ast.UnaryOp,
    ast.keyword,
    ast.Starred,
    ast.List,
    ast.Tuple,
)


@dataclass(frozen=True)
class Mix:
    """Two devices in one line: the `culprits` belong on `target`, where the `others` are."""

    site: Site
    target: torch.device
    culprits: tuple[Operand, ...]
    others: tuple[Operand, ...]


def find_mix(
    sites: list[Site], devices: tuple[str, ...] = (), *, certain: bool = False
) -> Mix | None:
    """Return the mix that caused an error, in the line where it has to be fixed.

    The innermost line with two devices is the start. If its culprit came in as an argument, the
    caller's line is where the fix belongs; if the function created it, its own line is.

    Args:
        sites: the student's places, the innermost first.
        devices: the devices that the error's message names.
        certain: accept only mixes that torch rejects in every operation.
    """
    for depth, site in enumerate(sites):
        mix = mix_in(site, devices, certain=certain)
        if mix is None:
            continue
        for outer in sites[depth + 1 :]:
            cause = mix_in(outer) if mix.site.in_function else None
            if cause is None or not _came_from(mix, cause):
                break
            known = {id(o.value) for o in (*mix.culprits, *mix.others)} - {id(None)}
            culprits, others = (
                tuple(sorted(group, key=lambda o: id(o.value) not in known))
                for group in (cause.culprits, cause.others)
            )
            mix = replace(cause, culprits=culprits, others=others)
        return mix
    return None


def mix_in(site: Site, devices: tuple[str, ...] = (), *, certain: bool = False) -> Mix | None:
    """Return the mix in the failing expression of `site`; None if everything is on one device.

    Tensors without dimensions, which torch accepts from the CPU in most operations, count only if
    nothing else explains the error, and never with `certain`.
    """
    if site.source is None or site.node is None:
        return None
    statement = replace(site, node=site.statement)
    for place in (site,) if site.statement is site.node else (site, statement):
        found = operands(place)
        direct = [o for o in found if not o.indirect]
        for pool in (direct, _by_elimination(place, direct, devices), found):
            group = [o for o in pool if not _accepted(o, pool)]
            if len({o.device for o in group}) > 1:
                return _with_neighbors(_split(place, group))
    found = [] if certain else operands(site)
    return _split(site, found) if len({o.device for o in found}) > 1 else None


def _by_elimination(site: Site, known: list[Operand], devices: tuple[str, ...]) -> list[Operand]:
    """Add the one operand of unknown device, if the message names a device that nothing is on.

    If `x` is on cuda:0 in `x + load()`, and the message names cuda:0 and cpu, then `load()` is on
    the CPU.
    """
    unknown = unknown_operands(site)
    places = {o.device for o in known if not _accepted(o, known)}
    if len(unknown) != 1 or len(places) != 1:
        return []
    place = next(iter(places))
    named = {device for device in map(as_device, devices) if device is not None}
    if len(named - {place}) != 1 or place.type not in {device.type for device in named}:
        return []
    return [*known, replace(unknown[0], device=next(iter(named - {place})))]


def _with_neighbors(mix: Mix) -> Mix:
    """Add what the same line computes with next, and where it would fail next.

    In `loss(net(X), y)`, `net(X)` fails; once `X` is moved, `y` would fail.
    """
    site, more = mix.site, []
    seen = {id(o.node) for o in (*mix.culprits, *mix.others)}
    for outer in site.source.parents(site.node):
        if isinstance(outer, ast.Attribute) and (outer.attr in NOT_TENSORS or outer.attr in MOVES):
            break
        if isinstance(outer, ast.BinOp | ast.Compare) or calls_torch(site, outer):
            found = operands(replace(site, node=outer))
            more += [o for o in found if id(o.node) not in seen and not _accepted(o, found)]
            seen |= {id(o.node) for o in found}
        elif not isinstance(outer, _PASS_RESULT_ON):
            break
    more = [o for o in more if o.device != mix.target and not o.indirect]
    return replace(mix, culprits=(*mix.culprits, *more))


def _accepted(operand: Operand, pool: list[Operand]) -> bool:
    """Return whether torch accepts it from the CPU: a scalar, or an index of another tensor."""
    if operand.device.type != "cpu":
        return False
    return operand.scalar or (operand.index and any(not o.index and o != operand for o in pool))


def _split(site: Site, group: list[Operand]) -> Mix:
    """Split `group` into culprits and others, the tensors of the failing layer first."""
    target = _target(group)
    layers = [frame.f_locals.get("self") for frame in site.library_frames]
    failing = next((m for m in reversed(layers) if isinstance(m, nn.Module)), nn.Module())
    own = {id(t) for t in [*failing._parameters.values(), *failing._buffers.values()]}
    if any(id(o.value) in own for o in group):
        group = sorted(group, key=lambda o: o.holder is not None and id(o.value) not in own)
    return Mix(
        site,
        target,
        tuple(o for o in group if o.device != target),
        tuple(o for o in group if o.device == target),
    )


def _target(group: list[Operand]) -> torch.device:
    """Return the accelerator on which everything should be; of several, the network's."""
    if all(isinstance(o.holder, torch.optim.Optimizer) for o in group):
        return next((o.device for o in group if isinstance(o.value, nn.Parameter)), group[0].device)
    accelerators = [o for o in group if o.device.type != "cpu"]
    network = Counter(o.device for o in accelerators if isinstance(o.holder, nn.Module))
    return network.most_common(1)[0][0] if network else accelerators[0].device


def _came_from(inner: Mix, outer: Mix) -> bool:
    """Return whether the culprit of `inner` was passed in by the line of `outer`."""
    culprit = inner.culprits[0]
    passed = {id(o.value) for c in outer.culprits for o in (c, *c.inputs) if o.value is not None}
    if isinstance(culprit.holder, nn.Module):
        return id(culprit.value) in passed
    name = next((n.id for n in ast.walk(culprit.node) if isinstance(n, ast.Name)), "")
    if not set(inner.site.arguments) & _origins(inner.site, name):
        return False
    return id(culprit.value) in passed or (
        isinstance(culprit.node, ast.Name)
        and any(
            o.device == culprit.device and not isinstance(o.holder, nn.Module)
            for o in outer.culprits
        )
    )


def _origins(site: Site, name: str) -> set[str]:
    """Return the variables that `name` was computed from; empty if the function created it."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        definition = site.definition_of(name)
        if definition is None:
            continue
        parts = list(ast.walk(definition.value))
        if any(is_factory(site, part) for part in parts):
            return set()
        waiting += [part.id for part in parts if isinstance(part, ast.Name)]
    return seen
