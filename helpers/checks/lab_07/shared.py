"""The `Lab` of lab 07 and its hints, and a context manager that measures peak memory."""

import weakref
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.checks.hints import read_hints
from helpers.checks.lab import Lab

lab = Lab("07_what_fills_gpu_memory", read_hints(Path(__file__).parent), seconds=20)


class PeakMeter(TorchDispatchMode):
    """Counts the bytes of all tensors that a block creates, on any device.

    `live` is the total size of the tensors that still exist, and `peak` is its maximum. Library
    workspaces and tensors from before the block are not counted, so that the numbers are the same
    on every machine.
    """

    def __init__(self) -> None:
        super().__init__()
        self.live = self.peak = 0
        self._known: set[int] = set()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Otherwise PyTorch imports its compiler at the first operation, which takes seconds.
        return False

    def exclude(self, *tensors: Tensor) -> None:
        """Do not count the memory of these tensors."""
        self._known |= {_address(tensor) for tensor in tensors}

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        # Bypass the simulated GPU: it has already handled this operation, or, in a backward pass,
        # must not handle it.
        with torch._C.DisableTorchFunction():
            result = operation(*args, **(kwargs or {}))
            for tensor in _tensors(result):
                self._count(tensor)
        return result

    def _count(self, tensor: Tensor) -> None:
        storage, address = tensor.untyped_storage(), _address(tensor)
        nbytes = storage.nbytes()
        if nbytes == 0 or address in self._known:
            return
        self._known.add(address)
        self.live += nbytes
        self.peak = max(self.peak, self.live)
        weakref.finalize(storage, self._forget, address, nbytes)

    def _forget(self, address: int, nbytes: int) -> None:
        self._known.discard(address)
        self.live -= nbytes


def _address(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _tensors(result: Any) -> list[Tensor]:
    if isinstance(result, Tensor):
        return [result]
    if isinstance(result, list | tuple):
        return [tensor for element in result for tensor in _tensors(element)]
    return []


def same_gradients(net: nn.Module, other: nn.Module) -> bool:
    """Return whether two networks have the same gradients, up to rounding."""
    pairs = zip(net.parameters(), other.parameters(), strict=True)
    return all(both_close(a.grad, b.grad) for a, b in pairs)


def both_close(a: Tensor | None, b: Tensor | None) -> bool:
    """Return whether two gradients are equal up to rounding, or both are missing."""
    if a is None or b is None:
        return a is b
    return torch.allclose(a.cpu(), b.cpu(), rtol=1e-2, atol=1e-4)
