"""Counting every allocation on a simulated device, including allocations made in C++.

A function mode receives only the results of functions called from Python. The backward pass and the
steps inside an operation run in C++; a dispatch mode, below autograd, receives their tensors too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .memory import DeviceMemory
from .places import CPU, index_of, set_devices, thread


class EveryAllocation(TorchDispatchMode):
    """Sets the device of each tensor when it is created, so that peaks are exact."""

    def __init__(self, memories: list[DeviceMemory]) -> None:
        super().__init__()
        self.memories = memories

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Otherwise PyTorch imports its compiler at the first operation, which takes seconds.
        return False

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        """Run one operation and set its result's device to that of the enclosing operation."""
        # Bypass the function mode: it has already handled this operation, or, in a backward pass,
        # must not handle it.
        with torch._C.DisableTorchFunction():
            result = operation(*args, **(kwargs or {}))
            device_index = thread.running
            if device_index == CPU and thread.backward_depth:
                device_index = max((index_of(tensor) for tensor in _tensors(args)), default=CPU)
            if device_index != CPU:
                set_devices(result, device_index, self.memories, guess=thread.backward_depth > 0)
            return result


def _tensors(values: Iterable[Any]) -> Iterable[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)
