"""Decide which of the student's variables is on the wrong device, and in which of their lines."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, replace

import torch
from torch import nn

from helpers.explain.contents import Operand
from helpers.explain.device_names import as_device
from helpers.explain.operands import MOVES, NO_TENSOR, is_factory, is_of_torch, operands, unknowns
from helpers.explain.source import Site

_PASSED = (ast.Attribute, ast.Subscript, ast.UnaryOp, ast.keyword, ast.Starred, ast.List, ast.Tuple)


@dataclass(frozen=True)
class Finding:
    """Two devices in one line: `culprits` should be on `target`, where the `settled` ones are."""

    site: Site
    target: torch.device
    culprits: tuple[Operand, ...]
    settled: tuple[Operand, ...]


def find_mix(
    sites: list[Site], devices: tuple[str, ...] = (), *, sure: bool = False
) -> Finding | None:
    """Find the line where two devices meet, the innermost first, and follow it to its origin.

    An argument that came in on the wrong device is the caller's to mend, a tensor made in a
    function is that function's. `devices` are those that the error's text names; `sure` asks for
    a mix that torch refuses in any operation.
    """
    for depth, site in enumerate(sites):
        finding = judge(site, devices, sure=sure)
        if finding is None:
            continue
        for outer in sites[depth + 1 :]:
            if not finding.site.in_function:
                break
            cause = judge(outer)
            if cause is None or not _brought_in(finding, cause):
                break
            known = {id(o.value) for o in (*finding.culprits, *finding.settled)} - {id(None)}
            culprits, settled = (
                tuple(sorted(group, key=lambda o: id(o.value) not in known))
                for group in (cause.culprits, cause.settled)
            )
            finding = replace(cause, culprits=culprits, settled=settled)
        return finding
    return None


def judge(site: Site, devices: tuple[str, ...] = (), *, sure: bool = False) -> Finding | None:
    """Weigh what meets in the failing expression of `site`; None if it is all on one device.

    What torch mostly takes from the CPU, a single number, counts as well unless `sure` is asked.
    """
    if site.source is None or site.node is None:
        return None
    statement = replace(site, node=site.statement)
    for place in (site,) if site.statement is site.node else (site, statement):
        found = operands(place)
        near = [o for o in found if not o.distant]
        by_elimination = _eliminated(place, near, devices)
        for pool in (near, by_elimination, found):
            group = [o for o in pool if not _harmless(o, pool)]
            if len({o.device for o in group}) > 1:
                return _with_neighbours(_weigh(place, group))
    found = [] if sure else operands(site)
    return _weigh(site, found) if len({o.device for o in found}) > 1 else None


def _eliminated(site: Site, known: list[Operand], devices: tuple[str, ...]) -> list[Operand]:
    """Place the one thing whose device is not known, where the error names a device too many.

    If `x` is on cuda:0 in `x + load()`, and cuda:0 met cpu, then it is `load()` that is on the CPU.
    """
    unknown = unknowns(site)
    places = {o.device for o in known if not _harmless(o, known)}
    if len(unknown) != 1 or len(places) != 1:
        return []
    place = next(iter(places))
    named = [as_device(name) for name in devices]
    others = {device for device in named if device is not None and device != place}
    if len(others) != 1 or place.type not in {d.type for d in named if d is not None}:
        return []
    return [*known, replace(unknown[0], device=others.pop())]


def _with_neighbours(finding: Finding) -> Finding:
    """Add what the same line goes on to compute with, and would fail on next.

    In `loss(net(X), y)` it is `net(X)` that fails; moved alone, `X` would leave `y` to fail.
    """
    site, more = finding.site, []
    seen = {id(o.node) for o in (*finding.culprits, *finding.settled)}
    for outer in site.source.parents(site.node):
        if isinstance(outer, ast.Attribute) and (outer.attr in NO_TENSOR or outer.attr in MOVES):
            break
        if isinstance(outer, ast.BinOp | ast.Compare) or is_of_torch(site, outer):
            found = operands(replace(site, node=outer))
            more += [o for o in found if id(o.node) not in seen and not _harmless(o, found)]
            seen |= {id(o.node) for o in found}
        elif not isinstance(outer, _PASSED):
            break
    more = [o for o in more if o.device != finding.target and not o.distant]
    return replace(finding, culprits=(*finding.culprits, *more))


def _harmless(operand: Operand, pool: list[Operand]) -> bool:
    """Say whether torch takes this one from the CPU: a single number, or an index of a GPU's."""
    if operand.device.type != "cpu":
        return False
    return operand.scalar or (operand.index and any(not o.index and o != operand for o in pool))


def _weigh(site: Site, group: list[Operand]) -> Finding:
    target = _target(group)
    failing = _failing_module(site)
    own = {id(t) for t in [*failing._parameters.values(), *failing._buffers.values()]}
    ordered = sorted(group, key=lambda o: o.holder is not None and id(o.value) not in own)
    if not any(id(o.value) in own for o in group):
        ordered = group
    return Finding(
        site,
        target,
        tuple(o for o in ordered if o.device != target),
        tuple(o for o in ordered if o.device == target),
    )


def _target(group: list[Operand]) -> torch.device:
    """Choose where all should be: on the accelerator; of several, where the network is."""
    parameters = [o for o in group if isinstance(o.holder, torch.optim.Optimizer)]
    if len(parameters) == len(group):  # the state follows the parameters, wherever they are
        return next((o.device for o in group if isinstance(o.value, nn.Parameter)), group[0].device)
    accelerators = [o for o in group if o.device.type != "cpu"]
    network = Counter(o.device for o in accelerators if isinstance(o.holder, nn.Module))
    return network.most_common(1)[0][0] if network else accelerators[0].device


def _failing_module(site: Site) -> nn.Module:
    """Return the innermost layer that was computing when the error came."""
    layers = [frame.f_locals.get("self") for frame in site.deeper]
    return next((m for m in reversed(layers) if isinstance(m, nn.Module)), nn.Module())


def _brought_in(inner: Finding, outer: Finding) -> bool:
    """Say whether the culprit of `inner` came out of the line of `outer`."""
    culprit = inner.culprits[0]
    handed = {id(o.value) for c in outer.culprits for o in (c, *c.inner) if o.value is not None}
    if isinstance(culprit.holder, nn.Module):
        return id(culprit.value) in handed
    name = next((n.id for n in ast.walk(culprit.node) if isinstance(n, ast.Name)), "")
    if not set(inner.site.arguments) & origins(inner.site, name):
        return False
    return id(culprit.value) in handed or (
        isinstance(culprit.node, ast.Name)
        and any(
            o.device == culprit.device and not isinstance(o.holder, nn.Module)
            for o in outer.culprits
        )
    )


def origins(site: Site, name: str) -> set[str]:
    """Return the names that a local variable was computed from; none if the function made it."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        definition = definition_of(site, name)
        if definition is None:
            continue
        parts = list(ast.walk(definition.value))
        if any(is_factory(site, part) for part in parts):
            return set()
        waiting += [part.id for part in parts if isinstance(part, ast.Name)]
    return seen


def definition_of(site: Site, name: str) -> ast.Assign | None:
    """Return the last `name = ...` above the failing line, in the same function or cell."""
    if site.source is None or site.statement is None:
        return None
    scope = site.source.scope_of(site.statement)
    found = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign)
        and node.lineno < site.statement.lineno
        and [ast.unparse(target) for target in node.targets] == [name]
        and site.source.scope_of(node) is scope
    ]
    return max(found, key=lambda node: node.lineno, default=None)
