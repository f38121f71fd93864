"""The simulated devices: their number, the current device, and the memory of each device."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from . import messages, waits
from .cards import Card
from .clock import Clock
from .device_tags import CPU
from .memory import DeviceMemory


class _CurrentDevice(threading.local):
    index = 0


class Machine:
    """`count` identical simulated devices with `total` bytes of memory each.

    `every_allocation` sets whether memory that PyTorch allocates internally is counted too. `card`
    is the model of GPU whose properties and time are simulated, and `computes` is whether
    operations compute anything.
    """

    def __init__(
        self, count: int, total: int, every_allocation: bool = False, card: Card | None = None,
        computes: bool = True,
    ) -> None:  # fmt: skip
        if count < 1:
            raise ValueError(f"devices is {count}; expected at least 1")
        if total < 1:
            raise ValueError(f"memory is {total} bytes; expected at least 1")
        self.arguments = (count, total, every_allocation, card, computes)
        self.count, self.total, self.card = count, total, card
        self.every_allocation, self.computes = every_allocation, computes
        self.clock = Clock(card) if card is not None else None
        self.memories = [DeviceMemory(index, total) for index in range(count)]
        # The default generators, created on first use.
        self.generators: list[Any] = []
        self.sync_debug_mode = 0
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

    @contextmanager
    def resized(self, count: int) -> Iterator[None]:
        """Change the number of devices inside a `with` block; hidden devices keep their tensors."""
        before = self.count, self.current
        # Tensors refer to the memory of their device, so the list only becomes longer.
        for index in range(len(self.memories), count):
            self.memories.append(DeviceMemory(index, self.total))
        self.count, self.current = count, min(self.current, max(0, count - 1))
        try:
            yield
        finally:
            self.count, self.current = before

    def reset(self) -> None:
        """Reset the current device and the memory statistics; existing tensors stay allocated."""
        self.current = self.sync_debug_mode = 0
        waits.set_debug_mode(self, 0)
        for memory in self.memories:
            memory.set_limit(None)
            memory.empty_cache()
            memory.reset_peaks()
            memory.reset_accumulated()

    def touch(self) -> None:
        """Initialize the devices; raise CUDA's error in a process forked after their first use."""
        if self.forked:
            raise RuntimeError(messages.text("forked"))
        self.initialized = True

    def resolve(self, device: object) -> int | None:
        """Return a GPU's index, `CPU`, or None for others; raise CUDA's error for a missing GPU."""
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

    def resolve_gpu(self, device: object = None) -> int:
        """Return the index of a GPU, None for the current one, or raise ValueError."""
        if device is None:
            return self.current
        device_index = self.resolve(device)
        if device_index is None or device_index == CPU:
            raise ValueError(f"Expected a cuda device, but got: {device}")
        return device_index
