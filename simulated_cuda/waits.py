"""What makes the CPU wait for a GPU: a counter, and the debug mode of `torch.cuda`.

A wait is what PyTorch reports after `torch.cuda.set_sync_debug_mode`, so not a `synchronize`. A
function mode sees copies between devices and indexing, and names the operation. A dispatch mode
sees the steps in operations and backward passes. `tests/waits.toml` lists where PyTorch waits.
"""

from __future__ import annotations

import linecache
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import overrides
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils import _python_dispatch
from torch.utils._pytree import tree_leaves

from .device_tags import UNKNOWN, DispatchMode, index_of, tag_of, thread
from .settings import table

Tensor = torch.Tensor
_aten = torch.ops.aten
_MESSAGE = "called a synchronizing CUDA operation"
_PACKAGE, _TORCH = str(Path(__file__).parent), str(Path(torch.__file__).parent)
_MASKS = (torch.bool, torch.uint8)


@dataclass(frozen=True)
class Wait:
    """A wait of the CPU, for a result (`reads`) or a copy to the GPU, and its file and line."""

    operation: str
    file: str
    line: int
    reads: bool = True

    def __str__(self) -> str:
        text = linecache.getline(self.file, self.line).strip()
        return f"{self.operation} at {self.file}:{self.line}: {text}"


@dataclass(frozen=True)
class Copy:
    """A copy of a tensor between devices: its size in bytes, and whether the CPU waited for it."""

    bytes: int
    source: str
    target: str
    waits: bool = False


def user_line() -> tuple[str, int]:
    """Return the file and line of the innermost frame outside torch and this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        file = frame.f_code.co_filename
        if not (file.startswith((_TORCH, "<frozen")) or file.rpartition(os.sep)[0] == _PACKAGE
                or file.endswith("contextlib.py")):  # fmt: skip
            break
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _on_gpu(tensor: Tensor, guess: bool = True) -> bool:
    """Return whether a tensor is on a GPU; with `guess`, it may have no device yet."""
    if not tensor.is_cpu:
        return not tensor.is_meta
    if not hasattr(torch.UntypedStorage, "device_tag"):
        return False
    return index_of(tensor) >= 0 or (guess and thread.running >= 0 and tag_of(tensor) is UNKNOWN)


def _is_on_gpu(value: object) -> bool:
    return isinstance(value, Tensor) and value.device.type not in ("cpu", "meta")


def _argument(args: Sequence[Any], kwargs: dict[str, Any], position: int, name: str) -> Any:
    return args[position] if len(args) > position else kwargs.get(name)


def _index(args: tuple, kwargs: dict) -> int:
    """One wait for each mask, whose elements are counted, and for each index on the CPU."""
    indices = [index for index in args[1] if index is not None]
    masks = sum(index.dtype in _MASKS and _on_gpu(index) for index in indices)
    if not _on_gpu(args[0]):
        return masks
    return masks + sum(index.dtype not in _MASKS and not _on_gpu(index) for index in indices)


def _index_put(args: tuple, kwargs: dict) -> int:
    indices = [index for index in args[1] if index is not None]
    is_one_mask = len(indices) == 1 and indices[0].dtype in _MASKS
    # PyTorch calls `masked_fill` for a number from the CPU, but not for one on the GPU.
    fills = is_one_mask and args[2].numel() == 1 and not _on_gpu(args[2], guess=False)
    return 0 if fills else _index(args, kwargs)


# The waits of one primitive operation, from its arguments, if one of its tensors is on a GPU.
_STEPS: dict[Any, Callable[[tuple, dict], int]] = {
    _aten._local_scalar_dense: lambda args, kwargs: int(_on_gpu(args[0])),
    **{getattr(_aten, name): lambda args, kwargs: 1 for name in table("functions")["waits_once"]},
    _aten.unique_consecutive: lambda args, kwargs: _argument(args, kwargs, 3, "dim") is None,
    _aten.index: _index,
    _aten._unsafe_index: _index,
    **dict.fromkeys((_aten.index_put, _aten.index_put_, _aten._index_put_impl_), _index_put),
    **dict.fromkeys((_aten.masked_fill, _aten.masked_fill_, _aten.index_fill, _aten.index_fill_),
                    lambda args, kwargs: isinstance(args[-1], Tensor) and _on_gpu(args[-1])),
    _aten.bincount: lambda args, kwargs: (
        bool(args[0].numel()) and (1 if args[0].dtype == torch.uint8 else 2)
    ),
    _aten.repeat_interleave: lambda args, kwargs: 2 * (kwargs.get("output_size") is None),
    _aten.equal: lambda args, kwargs: (
        args[0].shape == args[1].shape and args[0].numel() > 0 and args[0] is not args[1]
    ),
    _aten.histc: lambda args, kwargs: (
        2 * ((_argument(args, kwargs, 2, "min") or 0) == (_argument(args, kwargs, 3, "max") or 0))
    ),
}  # fmt: skip
# The waits of a whole function that does something else on the CPU, so that its steps do not count.
_WHOLE: dict[Callable[..., Any], Callable[[tuple, dict], int]] = {
    Tensor.tolist: lambda args, kwargs: 1,
    # Once for each number, mask and row that is formatted; the number depends on the values.
    **dict.fromkeys((Tensor.__repr__, Tensor.__str__), lambda args, kwargs: 1),
    Tensor.numpy: lambda args, kwargs: bool(kwargs.get("force")),
    **dict.fromkeys(
        (torch.full, torch.linspace, torch.logspace),
        lambda args, kwargs: sum(map(_is_on_gpu, (*args, *kwargs.values()))),
    ),
    torch.nn.functional.one_hot: lambda args, kwargs: (
        _argument(args, kwargs, 1, "num_classes") in (None, -1)
    ),
}
# Functions that copy, that create a tensor from Python's data, and that write into their first.
_FROM_DATA = {torch.tensor, torch.as_tensor, torch.asarray, Tensor.new_tensor}
_COPIES = {Tensor.to, Tensor.cpu, Tensor.cuda, Tensor.type, *_FROM_DATA}
_WRITES = {Tensor.copy_, Tensor.__setitem__, Tensor.fill_}


def _waits_of_indexing(func: Callable[..., Any], args: tuple) -> int:
    """Return the copies that `x[index]` and `x[index] = number` need, other than of tensors."""
    x = args[0]
    if x.device.type == "cpu":
        return 0
    parts = args[1] if isinstance(args[1], tuple) else (args[1],)
    count = sum(isinstance(p, list | range) or type(p).__name__ == "ndarray" for p in parts)
    if func is Tensor.__getitem__:
        return count
    value = args[2]
    if isinstance(value, Tensor) and (value.dim() or value.device.type != "cpu"):
        return count
    arrays = [p for p in parts if isinstance(p, list | range) or getattr(p, "ndim", 0)]
    if arrays:
        # `masked_fill` takes the number as it is; all other kernels need it on the device.
        fills = len(arrays) == 1 and getattr(arrays[0], "dtype", None) in _MASKS
        return count + (not fills)
    # A number is copied into a single element, but several elements are filled.
    return count + (sum(type(p) is int or isinstance(p, Tensor) for p in parts) == x.dim())


class _Steps(DispatchMode):
    """Reports the primitive operations that wait to a counter."""

    def __init__(self, counter: Waits) -> None:
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        """Report the waits of one operation, then run it."""
        # The simulated GPU has already handled this operation, or, in a backward pass, must not.
        with torch._C.DisableTorchFunction():
            rule = _STEPS.get(operation.overloadpacket)
            if rule is not None and not self.counter.muted:
                tensors = (x for x in tree_leaves(args) if isinstance(x, Tensor))
                if any(map(_on_gpu, tensors)):
                    name = operation._schema.name.partition("::")[2]
                    self.counter.note(name, rule(args, kwargs or {}))
            return operation(*args, **(kwargs or {}))


class Waits(TorchFunctionMode):
    """Records the waits of this thread in a `with` block, on simulated and on real GPUs.

    `waits` has a `Wait` for each, `copies` a `Copy` for each copy between devices, and `calls` the
    number of calls of torch functions. `len(...)` is the number of waits.
    """

    def __init__(self, debug_mode: int = 0) -> None:
        super().__init__()
        self.waits: list[Wait] = []
        self.copies: list[Copy] = []
        self.calls = 0
        self.muted = False
        self.steps = _Steps(self)
        self._debug_mode = debug_mode
        self._function = ""

    def __len__(self) -> int:
        return len(self.waits)

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> Waits:
        self.steps.__enter__()
        return super().__enter__()

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        self.steps.__exit__(*exception)

    def note(self, operation: str, count: int = 1, reads: bool = True) -> None:
        """Record `count` waits of an operation; in debug mode, warn or raise RuntimeError."""
        if not count:
            return
        file, line = user_line()
        if self._debug_mode == 2:
            raise RuntimeError(_MESSAGE)
        for _ in range(count):
            if self._debug_mode:
                warnings.warn_explicit(_MESSAGE, UserWarning, file, line)
            else:
                self.waits.append(Wait(self._function or operation, file, line, reads))

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Run one function, and record its copies and waits."""
        kwargs = kwargs or {}
        self.calls += 1
        before = self._function, self.muted
        self._function = before[0] or getattr(func, "__name__", "")
        try:
            if func in _WHOLE:
                if any(map(_is_on_gpu, (*args, *kwargs.values()))):
                    self.note(self._function, _WHOLE[func](args, kwargs))
                self.muted = True
            elif func is Tensor.__getitem__ or func is Tensor.__setitem__:
                self.note(self._function, _waits_of_indexing(func, args), reads=False)
                for index in tree_leaves(args[1]) if _is_on_gpu(args[0]) else ():
                    if isinstance(index, Tensor) and index.dim() and index.device.type == "cpu":
                        self.copies.append(Copy(index.nbytes, "cpu", str(args[0].device), True))
            if func in _WRITES and len(args) > 1:
                self._note_write(func, args, kwargs)
            if func in _FROM_DATA and args and isinstance(args[-1], list | tuple):
                self.note(self._function, sum(map(_is_on_gpu, tree_leaves(args[-1]))))
            result = func(*args, **kwargs)
            if func in _COPIES and isinstance(result, Tensor):
                tensors = [x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)]
                if tensors and func is not Tensor.new_tensor:
                    self._note_copy(tensors[0], result.device, result.nbytes, args, kwargs)
                elif func in _FROM_DATA and _is_on_gpu(result) and result.numel():
                    self._note_copy(torch.empty(0), result.device, result.nbytes, (), {})
            return result
        finally:
            self._function, self.muted = before

    def _note_write(self, func: Callable[..., Any], args: tuple, kwargs: dict) -> None:
        value = args[-1] if func is Tensor.__setitem__ else args[1]
        # A kernel gets a single number from the CPU as an argument, without a copy.
        is_number = isinstance(value, Tensor) and not value.dim() and value.device.type == "cpu"
        if isinstance(value, Tensor) and (func is Tensor.copy_ or not is_number):
            self._note_copy(value, args[0].device, value.nbytes, args, kwargs)

    def _note_copy(
        self, source: Tensor, target: torch.device, nbytes: int, args: tuple, kwargs: dict
    ) -> None:
        if source.device == target:
            return
        flags = (value for value in args[1:] if isinstance(value, bool))
        blocks = not kwargs.get("non_blocking", next(flags, False))
        waits = blocks and nbytes > 0 and "cpu" in (source.device.type, target.type)
        self.copies.append(Copy(nbytes, str(source.device), str(target), waits))
        self.note(self._function, waits, reads=source.device.type != "cpu")


_debugging: list[Waits] = []


def report_synchronization(operation: str) -> None:
    """Report an explicit synchronization to the counters of this thread."""
    for mode in _get_current_function_mode_stack():
        if isinstance(mode, Waits):
            mode.note(operation)


def set_debug_mode(machine: object, mode: int) -> None:
    """Warn of waits in this thread (`mode` 1), raise an error (2), or stop this (0)."""
    removed = _debugging[:]
    _debugging[:] = [Waits(mode)] if mode else []
    functions = [m for m in _get_current_function_mode_stack() if m not in removed]
    machines = [getattr(m, "machine", None) for m in functions]
    position = machines.index(machine) + 1 if machine in machines else 0
    functions[position:position] = _debugging
    for _ in _get_current_function_mode_stack():
        overrides._pop_mode()
    for function_mode in functions:
        overrides._push_mode(function_mode)
    steps = _python_dispatch._get_current_dispatch_mode_stack()
    for _ in steps:
        _python_dispatch._pop_mode()
    kept = (m for m in steps if m not in [counter.steps for counter in removed])
    for dispatch_mode in (*(counter.steps for counter in _debugging), *kept):
        _python_dispatch._push_mode(dispatch_mode)
