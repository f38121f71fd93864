"""Say which of the student's variables fill the GPU's memory."""

from __future__ import annotations

import re

import torch
from torch import nn

from helpers.explain.source import Site

_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "bytes": 1}
_MIN_SIZE = 1 << 20  # bytes; smaller variables do not help to explain the error


def full_device(text: str) -> torch.device | None:
    """Return the GPU that an out-of-memory message is about; None if it is not a CUDA device."""
    if not torch.cuda.is_available():
        return None
    number = re.search(r"GPU (\d+)", text)
    return torch.device("cuda", int(number.group(1)) if number else torch.cuda.current_device())


def memory_reason(text: str, device: torch.device) -> str:
    """Return whether the line needs more than the whole GPU, or more than is left of it."""
    needed, total = _bytes(text, "Tried to allocate"), _bytes(text, "a total capacity of")
    if needed and total and needed > total:
        return f"The line needs {size_text(needed)}; {device} has {size_text(total)} in all."
    used = size_text(torch.cuda.memory_allocated(device))
    return f"The line needs more memory than is free: {used} are in use on {device}."


def largest_variables(
    sites: list[Site], device: torch.device, count: int = 3
) -> list[tuple[str, int]]:
    """Return the student's variables that use most memory on `device`, with their bytes."""
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
        new = [t for t in tensors if t.device == device and id(t) not in seen]
        seen.update(id(t) for t in new)
        size = sum(t.nbytes for t in new)
        if size >= _MIN_SIZE and not name.startswith("_"):
            sizes[name] = max(size, sizes.get(name, 0))
    return sorted(sizes.items(), key=lambda item: -item[1])[:count]


def size_text(count: float) -> str:
    """Return a number of bytes with a unit: "1.5 GiB"."""
    for unit in ("GiB", "MiB", "KiB"):
        if count >= _UNITS[unit]:
            return f"{count / _UNITS[unit]:.1f} {unit}"
    return f"{count:.0f} bytes"


def _bytes(text: str, before: str) -> float:
    """Return the size that follows the words `before` in `text`, in bytes; 0 if there is none."""
    found = re.search(rf"{before} ([\d.]+) (\w+)", text)
    return float(found.group(1)) * _UNITS.get(found.group(2), 1) if found else 0.0
