"""Say what fills the GPU's memory, and make a tensor that is too large smaller."""

from __future__ import annotations

import ast
import re

import torch
from torch import nn

from helpers.explain.editing import Cure, replace_node, rewrite
from helpers.explain.operands import is_factory
from helpers.explain.source import Site

_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "bytes": 1}
_WORTH_NAMING = 1 << 20  # bytes; below, a variable is no help to know of


def device_that_is_full(text: str) -> torch.device | None:
    """Read from the error's text which GPU it is; None where that is no CUDA device."""
    if not torch.cuda.is_available():
        return None
    number = re.search(r"GPU (\d+)", text)
    return torch.device("cuda", int(number.group(1)) if number else torch.cuda.current_device())


def reason(text: str, device: torch.device) -> str:
    """Say whether the line asks for too much at any time, or for too much beside what is there."""
    asked, total = _size(text, "Tried to allocate"), _size(text, "a total capacity of")
    if asked and total and asked > total:
        return (
            f"The line asks for {size_text(asked)}, and the whole of {device} has "
            f"{size_text(total)}."
        )
    used = size_text(torch.cuda.memory_allocated(device))
    return f"What the line asks for does not fit beside the {used} that are in use on {device}."


def largest(sites: list[Site], device: torch.device, count: int = 3) -> list[tuple[str, int]]:
    """List the student's variables that take most memory on `device`, with their bytes."""
    sizes: dict[str, int] = {}
    seen: set[int] = set()
    for name, value in [pair for site in sites for pair in site.names.items()]:
        tensors: list[torch.Tensor] = []
        if isinstance(value, torch.Tensor):
            tensors = [value]
        elif isinstance(value, nn.Module):
            tensors = [*value.parameters(), *value.buffers()]
        elif isinstance(value, list | tuple):
            tensors = [item for item in value[:1000] if isinstance(item, torch.Tensor)]
        here = [t for t in tensors if t.device == device and id(t) not in seen]
        seen.update(id(t) for t in here)
        size = sum(t.numel() * t.element_size() for t in here)
        if size >= _WORTH_NAMING and not name.startswith("_"):
            sizes[name] = max(size, sizes.get(name, 0))
    return sorted(sizes.items(), key=lambda item: -item[1])[:count]


def size_text(count: float) -> str:
    """Write a number of bytes as people do: "1.5 GiB"."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} bytes"


def smaller(site: Site, error: BaseException) -> Cure | None:
    """Make the tensor that did not fit small enough for a quarter of what is free."""
    asked, free = (_size(str(error), before) for before in ("Tried to allocate", "of which"))
    call = site.node
    if not (asked and free and is_factory(site, call) and call.args):
        return None
    size = _whole_number(call.args[0])
    if size is None or free > 4 * asked:
        return None
    rows = int(size * free / asked / 4)
    if rows < 1:
        return None
    text = f"{1 << (rows.bit_length() - 1):_}"
    return rewrite(site.source, [replace_node(call.args[0], text)], site.statement)


def _size(text: str, before: str) -> float:
    """Return the bytes that `text` names behind the words `before`; 0 if it does not."""
    found = re.search(rf"{before} ([\d.]+) (\w+)", text)
    return float(found.group(1)) * _UNITS.get(found.group(2), 1) if found else 0.0


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
