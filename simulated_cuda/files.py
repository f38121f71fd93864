"""Saving and loading: checkpoints store a device such as `cuda:0`, as on a real GPU.

The file format is PyTorch's: a file saved with a simulated GPU can be loaded with a real GPU, and
vice versa. With neither of them, `torch.load` requires `map_location`.
"""

from __future__ import annotations

from typing import Any

from torch import serialization

from .machine import Machine
from .places import CPU, move_storage

# Lower than the priority of PyTorch's CPU package (10), so that these functions run first.
_PRIORITY = 5


def install(machine: Machine) -> None:
    """Register the simulated devices with PyTorch's serialization."""

    def tag(storage: Any) -> str | None:
        inner = getattr(storage, "_untyped_storage", storage)
        device_index = inner.place.index
        return None if device_index == CPU else f"cuda:{device_index}"

    def restore(storage: Any, location: str) -> Any:
        if not str(location).startswith("cuda"):
            return None
        # Raises PyTorch's own errors if CUDA is not available or has fewer devices.
        device = serialization._validate_device(location, "cuda")
        machine.touch()
        inner = getattr(storage, "_untyped_storage", storage)
        move_storage(inner, device.index or 0, machine.memories)
        return storage

    serialization.register_package(_PRIORITY, tag, restore)


def uninstall() -> None:
    """Undo `install`."""
    registry = serialization._package_registry
    registry[:] = [entry for entry in registry if entry[0] != _PRIORITY]
