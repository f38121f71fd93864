"""Say what fills the GPU's memory, and make a tensor that is too large smaller."""

from __future__ import annotations

import ast
import re

import torch
from torch import nn

from helpers.explain.editing import (
    Cure,
    replace_node,
    rewrite,
)
from helpers.explain.operands import is_factory
from helpers.explain.source import Site

_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "bytes": 1}


def largest(site: Site, device: torch.device, count: int = 3) -> list[tuple[str, int]]:
    """List the student's variables that take most memory on `device`, with their bytes."""
    sizes: dict[str, int] = {}
    seen: set[int] = set()
    for name, value in site.names.items():
        tensors: list[torch.Tensor] = []
        if isinstance(value, torch.Tensor):
            tensors = [value]
        elif isinstance(value, nn.Module):
            tensors = [*value.parameters(), *value.buffers()]
        elif isinstance(value, list | tuple):
            tensors = [item for item in value[:1000] if isinstance(item, torch.Tensor)]
        here = [t for t in tensors if t.device == device and id(t) not in seen]
        seen.update(id(t) for t in here)
        if here and not name.startswith("_"):
            sizes[name] = sum(t.numel() * t.element_size() for t in here)
    return sorted(sizes.items(), key=lambda item: -item[1])[:count]


def size_text(count: int) -> str:
    """Write a number of bytes as people do: "1.5 GiB"."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def smaller(site: Site, error: BaseException) -> Cure | None:
    """Make the tensor that did not fit small enough for a quarter of what is free."""
    asked = re.search(r"Tried to allocate ([\d.]+) (\w+)", str(error))
    free = re.search(r"of which ([\d.]+) (\w+) is free", str(error))
    call = site.node
    if not (asked and free and is_factory(site, call) and call.args):
        return None
    size = _whole_number(call.args[0])
    tried, room = (float(m.group(1)) * _UNITS.get(m.group(2), 1) for m in (asked, free))
    if size is None or not 0 < room < 4 * tried:
        return None
    rows = int(size * room / tried / 4)
    if rows < 1:
        return None
    text = f"{1 << (rows.bit_length() - 1):_}"
    return rewrite(site.source, [replace_node(call.args[0], text)], site.statement)


def _whole_number(node: ast.AST) -> int | None:
    """Read a size as it is written: `1000`, `1 << 30`, `64 * 1024`."""
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _whole_number(left), _whole_number(right)
            if a is None or b is None or not 0 <= b < 1 << 40:
                return None
            match op:
                case ast.LShift() if b < 64:
                    return a << b
                case ast.Mult():
                    return a * b
                case ast.Pow() if b < 64:
                    return a**b
    return None
