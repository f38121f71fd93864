"""The simulated devices: their number, the current device, and the memory of each device."""

from __future__ import annotations

import threading
from typing import Any

import torch

from . import messages
from .memory import DeviceMemory
from .places import CPU


class _CurrentDevice(threading.local):
    index = 0


class Machine:
    """`count` identical simulated devices with `total` bytes of memory each.

    `every_allocation` sets whether memory that PyTorch allocates internally is counted too.
    """

    def __init__(self, count: int, total: int, every_allocation: bool = False) -> None:
        if count < 1:
            raise ValueError(f"devices is {count}; expected at least 1")
        if total < 1:
            raise ValueError(f"memory is {total} bytes; expected at least 1")
        self.count = count
        self.total = total
        self.every_allocation = every_allocation
        self.memories = [DeviceMemory(index, total) for index in range(count)]
        self.devices = [torch.device("cuda", index) for index in range(count)]
        # The default generators, created on first use.
        self.generators: list[Any] = []
        self.initialized = False
        # True in a process that was forked after the first use of a device.
        self.forked = False
        self._current = _CurrentDevice()

    @property
    def current(self) -> int:
        """The index of this thread's current device."""
        return self._current.index

    @current.setter
    def current(self, index: int) -> None:
        self._current.index = index

    def reset(self) -> None:
        """Reset the current device and the memory statistics; existing tensors stay allocated."""
        self.current = 0
        for memory in self.memories:
            memory.set_limit(None)
            memory.empty_cache()
            memory.reset_peaks()
            memory.reset_accumulated()

    def touch(self) -> None:
        """Initialize the devices; raise CUDA's error in a process forked after their first use."""
        if self.forked:
            raise RuntimeError(messages.FORKED)
        self.initialized = True

    def resolve(self, device: object) -> int | None:
        """Return a simulated device's index, `CPU`, or None for other devices and invalid values.

        Raises CUDA's error for a device that does not exist.
        """
        if isinstance(device, bool) or device is None:
            return None
        if isinstance(device, int):
            index = device
        else:
            requested = device if isinstance(device, torch.device) else torch.device(device)
            if requested.type == "cpu":
                return CPU
            if requested.type != "cuda":
                return None
            index = self.current if requested.index is None else requested.index
        if not 0 <= index < self.count:
            raise messages.invalid_ordinal()
        self.touch()
        return index

    def name(self, index: int) -> torch.device:
        """Return the `torch.device` with this index; `CPU` is the CPU."""
        return torch.device("cpu") if index == CPU else self.devices[index]
