"""Mend what wants its tensor on the CPU: NumPy, pinned memory, the lengths of sequences."""

from __future__ import annotations

import ast
from dataclasses import replace

import torch

from helpers.explain.contents import Operand
from helpers.explain.device_names import as_device
from helpers.explain.editing import Edit, method_after, replace_node, rewrite
from helpers.explain.operands import operands, unknowns
from helpers.explain.remedy import Remedy
from helpers.explain.source import Site
from helpers.explain.wording import Wording


def to_host(site: Site, wording: Wording) -> Remedy | None:
    """Copy to the CPU what NumPy, pinning or a sequence length wants there."""
    found = [o for o in operands(site) if o.device.type != "cpu"]
    unknown = unknowns(site)
    named = as_device(wording.devices[0]) if wording.devices else None
    if not found and len(unknown) == 1 and named is not None:
        found = [replace(unknown[0], device=named)]
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
        holder, name = mine[0].holder, site.source.segment(node)
        if isinstance(holder, list | tuple):
            only_tensors = all(isinstance(element, torch.Tensor) for element in holder)
            item = "item" if only_tensors else "torch.as_tensor(item)"
            edits.append(replace_node(node, f"[{item}{method} for item in {name}]"))
        elif isinstance(holder, dict):
            text = f"{{key: item{method} for key, item in {name}.items()}}"
            edits.append(replace_node(node, text))
        else:
            edits += method_after(node, method)
    return Remedy(rewrite(site.source, edits, site.statement), tuple(found))


def lengths_to_host(site: Site, wording: Wording) -> Remedy | None:
    """Copy to the CPU the whole numbers that torch wants there; the data stays on the GPU."""
    numbers = [
        o
        for o in operands(site)
        if o.device.type != "cpu"
        and isinstance(o.value, torch.Tensor)
        and not o.value.is_floating_point()
    ]
    if not numbers:
        return to_host(site, wording)
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
