"""Saving and loading: a checkpoint says `cuda:0`, as one written on a GPU does.

The files are PyTorch's own. One written here can be read on a machine with a GPU, and the other way
round; without either, `torch.load` needs `map_location`.
"""

from __future__ import annotations

from typing import Any

from torch import serialization

from .machine import Machine
from .places import CPU, move_storage

# Before PyTorch's own (the CPU has 10), so that a simulated place is seen first.
_PRIORITY = 5


def install(machine: Machine) -> None:
    """Teach PyTorch's pickling which storages are on a simulated device."""

    def tag(storage: Any) -> str | None:
        inner = getattr(storage, "_untyped_storage", storage)
        where = inner.place.index
        return None if where == CPU else f"cuda:{where}"

    def restore(storage: Any, location: str) -> Any:
        if not str(location).startswith("cuda"):
            return None
        # Raises PyTorch's own texts where CUDA is not available or has fewer devices.
        device = serialization._validate_device(location, "cuda")
        machine.touch()
        inner = getattr(storage, "_untyped_storage", storage)
        move_storage(inner, device.index or 0, machine.memories)
        return storage

    serialization.register_package(_PRIORITY, tag, restore)


def uninstall() -> None:
    """Make PyTorch forget it again."""
    registry = serialization._package_registry
    registry[:] = [entry for entry in registry if entry[0] != _PRIORITY]
