"""The simulated devices themselves: how many there are, which one is current, what each holds."""

from __future__ import annotations

import threading

import torch

from . import messages
from .memory import DeviceMemory
from .places import CPU

GIB = 1 << 30


class _CurrentDevice(threading.local):
    index = 0


class Machine:
    """A number of equal simulated devices, each with `total` bytes of memory."""

    def __init__(self, count: int, total: int) -> None:
        if count < 1:
            raise ValueError(f"devices is {count}; a simulated machine needs at least one")
        if total < 1:
            raise ValueError(f"memory is {total} bytes; a simulated device needs some")
        self.count = count
        self.total = total
        self.memories = [DeviceMemory(index, total) for index in range(count)]
        self.devices = [torch.device("cuda", index) for index in range(count)]
        self.initialized = False
        # Set in a process that was forked after the devices were first used.
        self.forked = False
        self._current = _CurrentDevice()

    @property
    def current(self) -> int:
        """The number of the current device of this thread."""
        return self._current.index

    @current.setter
    def current(self, index: int) -> None:
        self._current.index = index

    def touch(self) -> None:
        """Refuse, as CUDA does, in a process that was forked after CUDA had been used."""
        if self.forked:
            raise RuntimeError(messages.FORKED)
        self.initialized = True

    def resolve(self, device: object) -> int | None:
        """The number of the simulated device that `device` means, `CPU`, or None for any other.

        Raises what CUDA raises for a device that is not there.
        """
        if isinstance(device, bool) or device is None:
            return None
        if isinstance(device, int):
            index = device
        else:
            wanted = device if isinstance(device, torch.device) else torch.device(device)
            if wanted.type == "cpu":
                return CPU
            if wanted.type != "cuda":
                return None
            index = self.current if wanted.index is None else wanted.index
        if not 0 <= index < self.count:
            raise messages.invalid_ordinal()
        self.touch()
        return index

    def name(self, index: int) -> torch.device:
        """`device(type='cuda', index=index)`, or the CPU."""
        return torch.device("cpu") if index == CPU else self.devices[index]
