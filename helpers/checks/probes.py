"""Record copies between devices, and how often Python reads numbers from a GPU."""

from dataclasses import dataclass
from types import TracebackType

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import simulated_cuda
from simulated_cuda.device_tags import CPU, index_of


@dataclass(frozen=True)
class Move:
    """A copy of a tensor between devices: its size in bytes, its source and its target."""

    bytes: int
    source: torch.device
    target: torch.device


class _ScalarReads(TorchDispatchMode):
    """Counts the scalars that Python reads from a GPU: `.item()`, `float()`, `if`."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Otherwise the first operation imports PyTorch's compiler, which takes seconds.
        return False

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        if operation is torch.ops.aten._local_scalar_dense.default:
            self.count += _on_gpu(args[0])
        # The simulated GPU has already processed this operation. In a backward pass, the operation
        # must bypass the simulated GPU, because some tensors have no device yet.
        with torch._C.DisableTorchFunction():
            return operation(*args, **(kwargs or {}))


class Watch(TorchFunctionMode):
    """Records the operations in a `with` block.

    `moves` has the copies from one device to another. `fetches` counts how often Python read
    numbers from a GPU, and `calls` counts the calls to torch functions.
    """

    def __init__(self) -> None:
        super().__init__()
        self.moves: list[Move] = []
        self.calls = 0
        self._tolist_calls = 0
        self._scalar_reads = _ScalarReads()

    @property
    def fetches(self) -> int:
        """How often Python read from a GPU, either a single number or a whole tensor."""
        copied = sum(m.source.type != "cpu" and m.target.type == "cpu" for m in self.moves)
        return self._scalar_reads.count + self._tolist_calls + copied

    def __enter__(self) -> "Watch":
        self._scalar_reads.__enter__()
        return super().__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, traceback)
        self._scalar_reads.__exit__(kind, error, traceback)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Run one operation and record what it did."""
        self.calls += 1
        result = func(*args, **(kwargs or {}))
        arguments = (*args, *(kwargs or {}).values())
        sources = [value for value in arguments if isinstance(value, torch.Tensor)]
        if func is torch.Tensor.tolist and sources[0].device.type != "cpu":
            self._tolist_calls += 1
        elif isinstance(result, torch.Tensor) and "__get__" not in getattr(func, "__name__", ""):
            target = result.device
            if sources and func in _COPY_FUNCTIONS and sources[0].device != target:
                self.moves.append(Move(result.nbytes, sources[0].device, target))
        return result


def _on_gpu(tensor: torch.Tensor) -> bool:
    if simulated_cuda.is_enabled():  # in dispatch, every tensor reports the CPU
        return index_of(tensor) != CPU
    return tensor.device.type != "cpu"


_COPY_FUNCTIONS = (torch.Tensor.to, torch.Tensor.cpu, torch.Tensor.cuda, torch.Tensor.type,
             torch.Tensor.copy_, torch.tensor, torch.as_tensor)  # fmt: skip
