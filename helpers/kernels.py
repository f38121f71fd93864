"""Run Triton kernels without a GPU, check every access to memory, and record it.

    kernels.enable()                                # once, before the first launch
    with kernels.recording() as launches:
        add_kernel[(4,)](x, y, out, n, BLOCK=64)    # Triton's own syntax
    launches[0].bytes_read, launches[0].elements("out"), launches[0].races()

`enable` replaces what `kernel[grid](...)` does. If the arguments are not on a real GPU, Triton's
interpreter runs the programs, one after another, on the CPU. Pointers are then virtual: an access
that is not an element of the tensor whose pointer it was computed from raises `OutOfBounds` and
reads or writes nothing. On a real GPU, kernels are compiled as always; inside `recording`, they are
first interpreted on copies of their arguments, which records and checks them.
"""

import inspect
import itertools
import linecache
import math
import os
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial, partialmethod
from typing import Any
from unittest import mock

import numpy as np
import torch

import simulated_cuda

KINDS = ("read", "write", "atomic")
# A pointer is `argument << _SHIFT`, plus an offset in bytes, plus half of that range, so that a
# negative offset stays in the range of its argument.
_SHIFT = 48
_HALF = 1 << (_SHIFT - 1)

_recordings: list[tuple[list["Launch"], "str | int", float]] = []


@dataclass
class OutOfBounds(IndexError):
    """A program accessed an element that its tensor does not have; nothing was read or written."""

    kernel: str
    program: tuple[int, int, int]  # one index per dimension of the grid
    kind: str  # one of KINDS
    tensor: str  # name of the kernel's argument
    element: int  # counted from the pointer that the kernel got
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    line: str  # of the kernel's code

    def __str__(self) -> str:
        verb = {"read": "reads", "write": "writes"}.get(self.kind, "updates")
        last = sum((n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True))
        advice = "Is a mask missing or wrong?" if self.element > last else "Is an offset wrong?"
        if 0 <= self.element <= last:
            advice = "That is between the elements of this view. Is a stride wrong?"
        return (
            f"program {self.program} of {self.kernel} {verb} `{self.tensor}` at offset "
            f"{self.element:,}, but its elements (shape {self.shape}, strides {self.strides}) have "
            f"offsets 0 to {last:,}. {advice} The line is: {self.line}"
        )


@dataclass(frozen=True)
class Access:
    """The active elements of one load, store, or atomic operation of one program."""

    program: int  # in the order of the grid, the last dimension fastest
    tensor: str  # name of the kernel's argument
    kind: str  # one of KINDS
    elements: np.ndarray  # indexes into the flattened tensor, in the order of its shape
    addresses: np.ndarray = field(repr=False)  # in bytes; equal for aliased arguments
    itemsize: int = 4


@dataclass(frozen=True)
class Race:
    """An element that several programs access, at least one writes, and not all atomically.

    With one program: one of its stores writes the element twice.
    """

    tensor: str
    element: int
    programs: tuple[int, ...]
    kinds: tuple[str, ...]


@dataclass
class Launch:
    """What the programs of one launch read and wrote."""

    kernel: str
    grid: tuple[int, int, int]
    shapes: dict[str, tuple[int, ...]]  # of the tensors among the arguments, by name
    accesses: list[Access] = field(default_factory=list, repr=False)
    error: OutOfBounds | None = None  # what ended it

    @property
    def programs(self) -> int:
        """The number of programs."""
        return math.prod(self.grid)

    @property
    def bytes_read(self) -> int:
        """The bytes that all programs load, each access counted."""
        return sum(a.elements.size * a.itemsize for a in self.accesses if a.kind != "write")

    @property
    def bytes_written(self) -> int:
        """The bytes that all programs store, each access counted."""
        return sum(a.elements.size * a.itemsize for a in self.accesses if a.kind != "read")

    def elements(self, tensor: str, *kinds: str) -> dict[int, list[int]]:
        """Return the elements of `tensor` that each program accesses, sorted, without repetition.

        Elements are indexes into the flattened tensor. `kinds`: of `KINDS`; all if none is given.
        """
        found = defaultdict(set)
        for access in self.accesses:
            if access.tensor == tensor and access.kind in (kinds or KINDS):
                found[access.program].update(access.elements.tolist())
        return {program: sorted(found[program]) for program in range(self.programs)}

    def races(self) -> list[Race]:
        """Return the elements whose value depends on the order of the programs."""
        users = defaultdict(dict)  # by address: the (program, kind) of each access, in order
        stores = Counter()
        for access in self.accesses:
            for address, element in zip(
                access.addresses.tolist(), access.elements.tolist(), strict=True
            ):
                key = (access.program, access.kind)
                users[address].setdefault(key, (access.tensor, element))
                if access.kind == "write":
                    stores[access.program, id(access), address] += 1
        twice = {address for (_, _, address), count in stores.items() if count > 1}
        races = []
        for address, pairs in users.items():
            kinds = {kind for _, kind in pairs}
            programs = sorted({program for program, _ in pairs})
            shared = len(programs) > 1 and kinds not in ({"read"}, {"atomic"})
            if shared or address in twice:
                tensor, element = next(v for (_, kind), v in pairs.items() if kind != "read")
                races.append(Race(tensor, element, tuple(programs), tuple(sorted(kinds))))
        return sorted(races, key=lambda race: (race.tensor, race.element))


@contextmanager
def recording(order: str | int = "forward", fill: float = 0) -> Iterator[list[Launch]]:
    """Yield a list to which each launch of a kernel is added, even one that raises `OutOfBounds`.

    `order` of the programs: "forward", "reversed", or the seed of a random order. The result of a
    correct kernel does not depend on it. Nor does it depend on `fill`: what a load without `other=`
    returns where its mask is false. Triton leaves that undefined. In integers, infinity is the
    largest number.
    """
    entry = ([], order, fill)
    _recordings.append(entry)
    try:
        yield entry[0]
    finally:
        _recordings.remove(entry)


def enable() -> None:
    """Make `kernel[grid](...)` work on CPU tensors and simulated GPUs, checked and recorded.

    Raises ImportError, with advice, if Triton is not installed: its wheels are for Linux only.
    """
    try:
        from triton.runtime import interpreter, jit
    except ImportError as error:
        raise ImportError(
            "Triton is not installed: it comes with PyTorch for Linux only. On Windows, use WSL; "
            "on macOS, open this notebook in Colab (the badge at its top), or read it with its "
            "stored outputs."
        ) from error
    for kind in (jit.JITFunction, interpreter.InterpretedFunction):
        if not hasattr(kind, "run_unguarded"):
            kind.run_unguarded, kind.run = kind.run, _run


def _run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
    tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, torch.Tensor)]
    compiled = not simulated_cuda.is_enabled() and any(t.is_cuda for t in tensors)
    if not warmup and (_recordings or not compiled):
        _interpret(kernel, grid, *(_host_copies(args, kwargs) if compiled else (args, kwargs)))
    if warmup or compiled:
        return kernel.run_unguarded(*args, grid=grid, warmup=warmup, **kwargs)
    return None


def _host_copies(args: tuple, kwargs: dict) -> tuple[list, dict]:
    """Return the arguments with copies of their tensors on the CPU, with the same strides."""
    storages: dict[int, Any] = {}

    def copy(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        storage = value.untyped_storage()
        host = storages.setdefault(storage.data_ptr(), storage.cpu())
        tensor = torch.empty(0, dtype=value.dtype)
        tensor.set_(host, value.storage_offset(), value.size(), value.stride())
        tensor.gpu_address = value.data_ptr()
        return tensor

    return [copy(value) for value in args], {name: copy(value) for name, value in kwargs.items()}


def _interpret(kernel: Any, grid: Any, args: Any, kwargs: dict) -> None:
    from triton.runtime import interpreter

    function = kernel.fn
    order, fill = _recordings[-1][1:] if _recordings else ("forward", 0)
    parameters = inspect.signature(function).parameters
    values = inspect.getcallargs(
        function, *args, **{name: v for name, v in kwargs.items() if name in parameters}
    )
    tensors = {name: v for name, v in values.items() if isinstance(v, torch.Tensor)}
    for name, tensor in tensors.items():
        if tensor.dtype == torch.bfloat16:
            raise TypeError(
                f"`{name}` is bfloat16. Triton's interpreter adds and multiplies such numbers as "
                "integers, so its results are wrong: use float32 or float16, or a real GPU."
            )
    launch = Launch(function.__name__, (0, 0, 0), {n: tuple(t.shape) for n, t in tensors.items()})
    for launches, *_ in _recordings:
        launches.append(launch)
    guard = _Guard(launch, tensors, function, order, fill)
    known = set(function.__globals__)
    try:
        with guard.installed():
            _interpreted(kernel.fn).run_unguarded(*args, grid=grid, warmup=False, **kwargs)
    except interpreter.InterpreterError as error:
        while isinstance(error, interpreter.InterpreterError):  # one per kernel that calls another
            error = error.__cause__
        launch.error = guard.error
        raise error from None
    finally:
        # The interpreter copies its own globals into the kernel's module: remove the others.
        for name in set(function.__globals__) - known - {"interpreter_semantic"}:
            del function.__globals__[name]


@cache
def _interpreted(function: Callable) -> Any:
    from triton.runtime.interpreter import InterpretedFunction

    return InterpretedFunction(function)


@contextmanager
def _library_interpreted(function: Callable) -> Iterator[None]:
    """Let the interpreter call the `@triton.jit` functions that `function` calls, as `tl.sum`."""
    from triton.language import tensor
    from triton.runtime.jit import JITFunction

    modules = [m for name, m in list(sys.modules.items()) if name.startswith("triton.language")]
    changed = []
    for names in [function.__globals__, *map(vars, modules)]:
        for name, value in list(names.items()):
            if isinstance(value, JITFunction):
                changed.append((partial(names.__setitem__, name), value))
                names[name] = _interpreted(value.fn)
    for name, value in list(vars(tensor).items()):
        if isinstance(value, JITFunction):  # a method, such as x.sum()
            changed.append((partial(setattr, tensor, name), value))
            setattr(tensor, name, partialmethod(_call, _interpreted(value.fn)))
    try:
        with mock.patch.dict(os.environ, TRITON_INTERPRET="1"):
            yield
    finally:
        for restore, value in changed:
            restore(value)


def _call(tensor: Any, function: Callable, *args: Any, **kwargs: Any) -> Any:
    return function(tensor, *args, **kwargs)


class _Pointer:
    """The elements that can be reached from the pointer of one tensor."""

    def __init__(self, tensor: torch.Tensor, argument: torch.Tensor) -> None:
        offsets = np.zeros(tensor.shape, dtype=np.int64)
        for dim, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
            steps = np.arange(size) * stride
            offsets += steps.reshape([-1 if d == dim else 1 for d in range(tensor.ndim)])
        self.tensor = tensor
        self.address, self.itemsize = tensor.data_ptr(), tensor.element_size()
        # From the address in a copy on the CPU to that in the argument of the launch.
        self.distance = getattr(argument, "gpu_address", argument.data_ptr()) - self.address
        # By offset: the index in the flattened tensor; -1 between the elements of a view.
        self.elements = np.full(offsets.max(initial=-1) + 1, -1)
        self.elements[offsets.ravel()] = np.arange(offsets.size)

    def are_valid(self, offsets: np.ndarray) -> np.ndarray:
        in_range = (offsets >= 0) & (offsets < len(self.elements))
        return in_range & (self.elements[np.where(in_range, offsets, 0)] >= 0)


class _Guard:
    """Checks and records the interpreter's accesses to memory, for one launch."""

    def __init__(
        self, launch: Launch, tensors: dict, function: Callable, order: str | int, fill: float
    ) -> None:
        self.launch, self.function, self.order, self.fill = launch, function, order, fill
        self.names, self.tensors, self.pointers = [*tensors], [*tensors.values()], []
        self.error: Exception | None = None

    @contextmanager
    def installed(self) -> Iterator[None]:
        from triton.runtime import interpreter

        builder = interpreter.interpreter_builder
        methods = {
            "set_grid_dim": partial(self.set_grid, builder, builder.set_grid_dim),
            "set_grid_idx": lambda *_: setattr(builder, "grid_idx", next(self.programs)),
            "create_masked_load": partial(self.load, builder, builder.create_masked_load),
            "create_masked_store": partial(self.store, builder, builder.create_masked_store),
            "create_atomic_rmw": partial(self.update, builder, builder.create_atomic_rmw),
            "create_atomic_cas": partial(self.exchange, builder, builder.create_atomic_cas),
        }
        convert = partial(self.convert, interpreter._implicit_cvt)
        with (
            _library_interpreted(self.function),
            mock.patch.object(interpreter, "_implicit_cvt", convert),
            mock.patch.multiple(builder, **methods),
        ):
            yield

    def convert(self, original: Callable, argument: Any) -> Any:
        """Give the kernel a virtual pointer instead of the address of a tensor."""
        converted = original(argument)
        if isinstance(argument, torch.Tensor):
            self.pointers.append(_Pointer(argument, self.tensors[len(self.pointers)]))
            pointer = (len(self.pointers) << _SHIFT) + _HALF
            converted.handle.data = np.array([pointer], dtype=np.uint64)
        return converted

    def set_grid(self, builder: Any, original: Callable, *grid: int) -> None:
        original(*grid)
        self.launch.grid = grid
        programs = list(itertools.product(*map(range, grid)))
        if self.order == "reversed":
            programs.reverse()
        elif self.order != "forward":
            random.Random(self.order).shuffle(programs)
        self.programs = iter(programs)

    def load(self, builder, original, pointers, mask, other, *rest, **options):
        size = max(1, pointers.get_element_ty().primitive_bitwidth // 8)
        real = self.access(builder, "read", pointers, mask.data, size)
        handle = original(real, mask, other, *rest, **options)
        if other is None and self.fill and (dtype := handle.data.dtype).kind in "fiu":
            fill = self.fill if dtype.kind == "f" else np.iinfo(dtype).max
            handle.data = np.where(mask.data, handle.data, dtype.type(fill))
        return handle

    def store(self, builder, original, pointers, value, mask, *rest):
        real = self.access(builder, "write", pointers, mask.data, value.data.itemsize)
        return original(real, value, mask, *rest)

    def update(self, builder, original, operation, pointers, value, mask, *rest):
        real = self.access(builder, "atomic", pointers, mask.data, value.data.itemsize)
        return original(operation, real, value, mask, *rest)

    def exchange(self, builder, original, pointers, expected, value, *rest):
        real = self.access(builder, "atomic", pointers, True, value.data.itemsize)
        return original(real, expected, value, *rest)

    def access(self, builder: Any, kind: str, pointers: Any, mask: Any, itemsize: int) -> Any:
        """Check and record the active elements; return a handle with their real addresses."""
        data = pointers.data.astype(np.int64)
        active = np.broadcast_to(mask, data.shape)
        real = np.zeros_like(data)
        grid, program = self.launch.grid, builder.grid_idx
        for number in np.unique(data[active] >> _SHIFT):
            chosen = active & (data >> _SHIFT == number)
            offsets = (data[chosen] & ((1 << _SHIFT) - 1)) - _HALF
            if not 1 <= number <= len(self.pointers):
                self.error = TypeError("a pointer was not computed from a tensor argument.")
                raise self.error
            pointer, name = self.pointers[number - 1], self.names[number - 1]
            first, last = (n // pointer.itemsize for n in (offsets, offsets + itemsize - 1))
            wrong = ~(pointer.are_valid(first) & pointer.are_valid(last))
            if wrong.any():
                self.error = self.out_of_bounds(program, kind, name, pointer, int(first[wrong][0]))
                raise self.error
            real[chosen] = offsets + pointer.address
            elements = pointer.elements[first]
            number = int(np.ravel_multi_index(program, grid))
            addresses = real[chosen] + pointer.distance
            access = Access(number, name, kind, elements, addresses, itemsize)
            self.launch.accesses.append(access)
        return type(pointers)(real.astype(np.uint64), pointers.dtype)

    def out_of_bounds(self, program, kind, name, pointer, element) -> OutOfBounds:
        frame, path = sys._getframe(), self.function.__code__.co_filename
        while frame is not None and frame.f_code.co_filename != path:
            frame = frame.f_back
        line = linecache.getline(path, frame.f_lineno).strip() if frame else "unknown"
        kernel, shape = self.launch.kernel, tuple(pointer.tensor.shape)
        strides = pointer.tensor.stride()
        return OutOfBounds(kernel, program, kind, name, element, shape, strides, line)
