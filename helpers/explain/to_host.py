"""Mend what wants its tensor on the CPU: NumPy, pinned memory, the lengths of sequences."""

from __future__ import annotations

import ast

import torch

from helpers.explain.editing import (
    Edit,
    method_after,
    replace_node,
    rewrite,
)
from helpers.explain.operands import Operand, operands
from helpers.explain.remedy import Remedy
from helpers.explain.source import Site


def to_host(site: Site) -> Remedy | None:
    """Copy to the CPU what NumPy, pinning or a sequence length wants there."""
    found = [o for o in operands(site) if o.device.type != "cpu"]
    if not found:
        return None
    call = site.node
    method = call.func.attr if isinstance(getattr(call, "func", None), ast.Attribute) else ""
    if method in ("numpy", "pin_memory", "apply_", "map_"):
        receiver = call.func.value
        text = site.source.segment(receiver)
        place = Operand(text, found[0].device, receiver, found[0].value)
        graph = method == "numpy" and _has_gradient(receiver, found)
        edits = method_after(receiver, ".detach().cpu()" if graph else ".cpu()")
        return Remedy(rewrite(site.source, edits, site.statement), (place,))
    edits: list[Edit] = []
    for node in dict.fromkeys(o.node for o in found):
        mine = [o for o in found if o.node is node]
        method = ".detach().cpu()" if any(_requires_grad(o) for o in mine) else ".cpu()"
        if isinstance(mine[0].holder, list | tuple):
            name = site.source.segment(node)
            edits.append(replace_node(node, f"[item{method} for item in {name}]"))
        elif isinstance(mine[0].holder, dict):
            name = site.source.segment(node)
            edits.append(
                replace_node(node, f"{{key: item{method} for key, item in {name}.items()}}")
            )
        else:
            edits += method_after(node, method)
    return Remedy(rewrite(site.source, edits, site.statement), tuple(found))


def lengths_to_host(site: Site) -> Remedy | None:
    """Copy to the CPU the whole numbers that torch wants there; the data stays on the GPU."""
    numbers = [
        o
        for o in operands(site)
        if o.device.type != "cpu"
        and isinstance(o.value, torch.Tensor)
        and not o.value.is_floating_point()
    ]
    if not numbers:
        return to_host(site)
    edits = method_after(numbers[-1].node, ".cpu()")
    return Remedy(rewrite(site.source, edits, site.statement), (numbers[-1],))


def _requires_grad(operand: Operand) -> bool:
    return isinstance(operand.value, torch.Tensor) and operand.value.requires_grad


def _has_gradient(receiver: ast.AST, found: list[Operand]) -> bool:
    detached = any(
        isinstance(part, ast.Attribute) and part.attr in ("detach", "data", "argmax")
        for part in ast.walk(receiver)
    )
    inside = [o for operand in found for o in (operand, *operand.inner)]
    return not detached and any(_requires_grad(o) for o in inside)
