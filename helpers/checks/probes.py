"""Notes what a piece of code carries between devices, makes elsewhere, and fetches to Python."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import simulated_cuda
from simulated_cuda.places import CPU, index_of


@dataclass(frozen=True)
class Move:
    """One tensor that was carried: how many bytes, from where to where."""

    bytes: int
    source: torch.device
    target: torch.device


class _Fetches(TorchDispatchMode):
    """Counts the single numbers that Python takes off a GPU: `.item()`, `float()`, `if`."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Or PyTorch imports its compiler at the first operation, which takes seconds.
        return False

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        if operation is torch.ops.aten._local_scalar_dense.default:
            self.numbers += _on_gpu(args[0])
        # A simulated GPU has looked at this operation before, or must not: in a backward pass it
        # would see tensors that have no place yet.
        with torch._C.DisableTorchFunction():
            return operation(*args, **(kwargs or {}))


class Watch(TorchFunctionMode):
    """Watches the operations of a block.

    `moves` are the tensors carried from one device to another; `made` the devices on which tensors
    were made that come from no other tensor; `fetched` how often Python took numbers from a GPU.
    """

    def __init__(self) -> None:
        super().__init__()
        self.moves: list[Move] = []
        self.made: list[torch.device] = []
        self._lists = 0
        self._fetches = _Fetches()

    @property
    def fetched(self) -> int:
        """How often numbers left a GPU, one by one or a tensor at a time."""
        carried = sum(m.source.type != "cpu" and m.target.type == "cpu" for m in self.moves)
        return self._fetches.numbers + self._lists + carried

    def __enter__(self) -> Watch:
        self._fetches.__enter__()
        return super().__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, traceback)
        self._fetches.__exit__(kind, error, traceback)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Run one operation and note what it did."""
        result = func(*args, **(kwargs or {}))
        given = (*args, *(kwargs or {}).values())
        sources = [value for value in given if isinstance(value, torch.Tensor)]
        if func is torch.Tensor.tolist and sources[0].device.type != "cpu":
            self._lists += 1
        elif isinstance(result, torch.Tensor) and "__get__" not in getattr(func, "__name__", ""):
            target = result.device
            if not sources:
                if not _holds_tensor(given):
                    self.made.append(target)
            elif func in _CARRIERS and sources[0].device != target:
                self.moves.append(Move(result.nbytes, sources[0].device, target))
        return result


def _on_gpu(tensor: torch.Tensor) -> bool:
    if simulated_cuda.is_enabled():  # beneath it every tensor says that it is on the CPU
        return index_of(tensor) != CPU
    return tensor.device.type != "cpu"


def _holds_tensor(args: tuple[Any, ...]) -> bool:
    return any(
        isinstance(inner, torch.Tensor)
        for value in args
        if isinstance(value, list | tuple)
        for inner in value
    )


_CARRIERS = (torch.Tensor.to, torch.Tensor.cpu, torch.Tensor.cuda, torch.Tensor.type,
             torch.Tensor.copy_, torch.tensor, torch.as_tensor)  # fmt: skip
