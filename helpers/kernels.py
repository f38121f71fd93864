"""Run Triton kernels without a GPU, check every access to memory, and record it.

    kernels.enable()                                # once
    with kernels.recording() as launches:
        add_kernel[(4,)](x, y, out, n, BLOCK=64)    # Triton's own syntax
    launches[0].bytes_read, launches[0].elements("out"), launches[0].races()

If no argument is on a real GPU, Triton's interpreter runs the programs, one after another, on the
CPU. Pointers are then virtual: an access to anything but an element of the tensor whose pointer it
was computed from raises `OutOfBounds`, and reads or writes nothing. On a real GPU, kernels are
compiled as always; inside `recording`, they are first interpreted on copies of their arguments.
"""

import inspect
import linecache
import math
import os
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import torch
from IPython.core.getipython import get_ipython

import simulated_cuda

KINDS = ("read", "write", "atomic")
MAX_PROGRAMS = 4096  # interpreting that many takes about 10 seconds
# A virtual pointer is the tensor's number << _SHIFT, plus _START, plus an offset in bytes.
_SHIFT, _START = 48, 1 << 47
# Of the interpreter's methods: the kind of access; which arguments are pointers, mask, and value.
_METHODS = {
    "create_masked_load": ("read", 0, 1, None),
    "create_masked_store": ("write", 0, 2, 1),
    "create_atomic_rmw": ("atomic", 1, 3, 2),
    "create_atomic_cas": ("atomic", 0, None, 2),
}
_recordings: list[tuple[list["Launch"], str | int, float, int]] = []
missing: list[str] = []  # why `enable` failed, and what to do
_ADVICE = """On Linux, run `pip install triton` and restart the kernel. On macOS, open this notebook
in Colab: its first cell has the link. On Windows, use Colab or WSL.""".replace("\n", " ")


class OutOfBounds(IndexError):
    """A program accessed something that is not an element of its tensor; nothing was changed.

    Attributes: `kernel`; `program`, an index per dimension of the grid; `kind`, of `KINDS`;
    `tensor`, the argument; `element`, from its pointer; `shape`; `strides`; `line` of the code.
    """

    def __init__(self, **facts: Any) -> None:
        self.__dict__.update(facts)
        last = sum((n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True))
        advice = "Is a mask missing or wrong?" if self.element > last else "Is an offset wrong?"
        if 0 <= self.element <= last:
            advice = "That is between the elements of this view. Is a stride wrong?"
        super().__init__(
            f"Program {self.program} of {self.kernel}: {self.kind} of `{self.tensor}` at offset "
            f"{self.element:,}. Its elements (shape {self.shape}, strides {self.strides}) have "
            f"offsets 0 to {last:,}. {advice} The line is: {self.line}"
        )


class TooManyPrograms(ValueError):
    """A grid has more programs than may be interpreted; none was run."""


class Access(NamedTuple):
    """The active elements of one load, store, or atomic operation of one program."""

    program: int  # in the order of the grid, its last dimension fastest
    tensor: str  # name of the kernel's argument
    kind: str  # of KINDS
    elements: np.ndarray  # indexes into the flattened tensor
    addresses: np.ndarray  # in bytes, as of `data_ptr()`
    itemsize: int


class Race(NamedTuple):
    """An element that several programs access, at least one writes, and not all atomically.

    With one program: one of its stores writes the element more than once.
    """

    tensor: str
    element: int
    programs: tuple[int, ...]
    kinds: tuple[str, ...]


class Launch:
    """What the programs of one launch read and wrote: `kernel`, `grid`, `shapes`, `accesses`.

    `programs` is their number, and `error` the OutOfBounds that ended the launch, if any.
    """

    def __init__(self, function: Callable, order="forward", fill=0.0, most=MAX_PROGRAMS) -> None:
        self.kernel, self.grid, self.programs = function.__name__, (0, 0, 0), 0
        self.shapes: dict[str, tuple[int, ...]] = {}  # of the tensors, by argument
        self.versions: dict[int, int] = {}  # of the tensors before the launch, by address
        self.accesses: list[Access] = []
        self.error: OutOfBounds | None = None
        self._function, self._order, self._fill, self._most = function, order, fill, most
        self._pointers: list[_Pointer] = []

    @property
    def bytes_read(self) -> int:
        """The bytes that all programs load, each access counted."""
        return sum(a.elements.size * a.itemsize for a in self.accesses if a.kind != "write")

    @property
    def bytes_written(self) -> int:
        """The bytes that all programs store, each access counted."""
        return sum(a.elements.size * a.itemsize for a in self.accesses if a.kind != "read")

    def elements(self, tensor: str, *kinds: str) -> dict[int, list[int]]:
        """Return the elements of `tensor` that each program accesses, sorted, each once.

        Elements are indexes into the flattened tensor. `kinds`: of `KINDS`; all if none is given.
        """
        found = {program: set() for program in range(self.programs)}
        for access in self.accesses:
            if access.tensor == tensor and access.kind in (kinds or KINDS):
                found[access.program].update(access.elements.tolist())
        return {program: sorted(elements) for program, elements in found.items()}

    def races(self) -> list[Race]:
        """Return the elements whose value may depend on the order of the programs."""
        names, users, twice = {}, defaultdict(set), set()  # by address
        for access in self.accesses:
            addresses = access.addresses.tolist()
            for address, element in zip(addresses, access.elements.tolist(), strict=True):
                users[address].add((access.program, access.kind))
                if access.kind != "read":
                    names[address] = (access.tensor, element)
            if access.kind == "write":
                twice.update(a for a, count in Counter(addresses).items() if count > 1)
        races = []
        for address, name in names.items():
            programs, kinds = map(set, zip(*users[address], strict=True))
            if address in twice or (len(programs) > 1 and kinds != {"atomic"}):
                races.append(Race(*name, tuple(sorted(programs)), tuple(sorted(kinds))))
        return sorted(races)

    def _run(self, grid: Any, args: tuple, kwargs: dict, keep_results: bool) -> None:
        from triton.runtime import interpreter

        builder, executor = interpreter.interpreter_builder, interpreter.GridExecutor
        known = inspect.signature(self._function).parameters
        known = {name: value for name, value in kwargs.items() if name in known}
        values = inspect.getcallargs(self._function, *args, **known).items()
        tensors = iter([item for item in values if isinstance(item[1], torch.Tensor)])
        convert = partial(self._convert, interpreter._implicit_cvt, tensors)
        methods = {
            name: partial(self._access, builder, getattr(builder, name), *where)
            for name, where in _METHODS.items()
        }
        methods["set_grid_dim"] = partial(self._set_grid, builder, builder.set_grid_dim)
        methods["set_grid_idx"] = lambda *_: setattr(builder, "grid_idx", next(self._order))
        restore = executor._restore_args_dev if keep_results else lambda *_: None
        try:
            with (
                _library_interpreted(),
                np.errstate(all="ignore"),
                mock.patch.multiple(builder, **methods),
                mock.patch.object(interpreter, "_implicit_cvt", convert),
                mock.patch.object(executor, "_restore_args_dev", restore),
            ):
                run = _interpreted(self._function).run_unguarded
                run(*args, grid=grid, warmup=False, **kwargs)
        except interpreter.InterpreterError as error:
            while error.__cause__ is not None:
                error = error.__cause__
            raise error from None

    def _convert(self, original: Callable, tensors: Iterator, argument: Any) -> Any:
        """Give the kernel a virtual pointer instead of the address of a tensor."""
        converted = original(argument)
        if isinstance(argument, torch.Tensor):
            if argument.dtype == torch.bfloat16:
                raise TypeError(
                    "Triton's interpreter computes bfloat16 wrongly: use float32 or float16 here."
                )
            name, given = next(tensors)
            self._pointers.append(_Pointer(name, given, argument))
            self.shapes[name] = tuple(given.shape)
            self.versions[given.data_ptr()] = given._version
            converted.handle.data = np.array([(len(self._pointers) << _SHIFT) + _START], np.uint64)
        return converted

    def _set_grid(self, builder: Any, original: Callable, *grid: int) -> None:
        if (programs := int(math.prod(grid))) > self._most:
            size = max(map(math.prod, self.shapes.values()), default=1)
            raise TooManyPrograms(
                f"The grid {grid} has {programs:,} programs, but at most {self._most:,} can be "
                f"interpreted here. Each computes a whole block: the largest tensor has {size:,} "
                f"elements, so divide {size} by the elements of a block, and round up."
            )
        original(*grid)
        self.grid, self.programs, order = grid, programs, list(np.ndindex(grid))
        if self._order not in ("forward", "reversed"):
            random.Random(self._order).shuffle(order)
        self._order = reversed(order) if self._order == "reversed" else iter(order)

    def _access(self, builder, original, kind, at, mask, value, *args, **options) -> Any:
        """Check and record an access, and do it with the elements' real addresses."""
        handle = args[at]
        size = max(1, handle.get_element_ty().primitive_bitwidth // 8)
        size = size if value is None else max(size, args[value].data.itemsize)
        data = handle.data.astype(np.int64)
        # The interpreter keeps some masks as integers.
        active = np.broadcast_to(mask is None or args[mask].data.astype(bool), data.shape)
        real = np.zeros_like(data)
        for number in np.unique(data[active] >> _SHIFT):
            if not 1 <= number <= len(self._pointers):
                raise TypeError("a pointer was not computed from a tensor argument.")
            chosen, pointer = active & (data >> _SHIFT == number), self._pointers[number - 1]
            offsets = data[chosen] - (number << _SHIFT) - _START
            first, last = (n // pointer.itemsize for n in (offsets, offsets + size - 1))
            wrong = first[~(pointer.has(first) & pointer.has(last))]
            if wrong.size:
                facts = {"kernel": self.kernel, "program": builder.grid_idx, "kind": kind}
                facts |= {"tensor": pointer.name, "element": int(wrong[0]), "line": self._line()}
                self.error = OutOfBounds(**facts, shape=pointer.shape, strides=pointer.strides)
                raise self.error
            real[chosen] = offsets + pointer.address
            program = int(np.ravel_multi_index(builder.grid_idx, self.grid))
            found = (pointer.elements[first], real[chosen] + pointer.distance, size)
            self.accesses.append(Access(program, pointer.name, kind, *found))
        handle = type(handle)(real.astype(np.uint64), handle.dtype)
        result = original(*args[:at], handle, *args[at + 1 :], **options)
        if kind == "read" and args[2] is None and (dtype := result.data.dtype).kind in "fiu":
            fill = self._fill if dtype.kind == "f" or not self._fill else np.iinfo(dtype).max
            result.data = np.where(active, result.data, dtype.type(fill))
        return result

    def _line(self) -> str:
        frame, path = sys._getframe(), self._function.__code__.co_filename
        while frame.f_code.co_filename != path:
            frame = frame.f_back
        return linecache.getline(path, frame.f_lineno).strip()


class _Pointer:
    """The elements that can be reached from the pointer of one tensor."""

    def __init__(self, name: str, given: torch.Tensor, tensor: torch.Tensor) -> None:
        self.name, self.shape, self.strides = name, tuple(tensor.shape), tensor.stride()
        self.address, self.itemsize = tensor.data_ptr(), tensor.element_size()
        # The interpreter copies the tensors that are on a GPU.
        self.distance = given.data_ptr() - self.address
        steps = np.array(self.strides).reshape(-1, *[1] * tensor.ndim)
        offsets = (np.indices(self.shape) * steps).sum(axis=0, dtype=np.int64)
        # By offset: the index in the flattened tensor; -1 between the elements of a view.
        self.elements = np.full(offsets.max(initial=-1) + 1, -1)
        self.elements[offsets.ravel()] = np.arange(offsets.size)

    def has(self, offsets: np.ndarray) -> np.ndarray:
        in_range = (offsets >= 0) & (offsets < len(self.elements))
        in_range[in_range] = self.elements[offsets[in_range]] >= 0
        return in_range


@contextmanager
def recording(
    order: str | int = "forward", fill: float = 0, max_programs: int = MAX_PROGRAMS
) -> Iterator[list[Launch]]:
    """Yield a list to which each launch of a kernel is added, even one that raises an error.

    `order` of the programs: "forward", "reversed", or a seed. The result of a correct kernel does
    not depend on it, nor on `fill`: what a load without `other=` returns where its mask is false
    (if not 0: in integers, the largest one). More than `max_programs` raise TooManyPrograms.
    """
    _recordings.append(([], order, fill, max_programs))
    try:
        yield _recordings[-1][0]
    finally:
        _recordings.pop()


def enable() -> None:
    """Make `kernel[grid](...)` work without a GPU, checked and recorded.

    Raises ImportError, with advice, if Triton is not installed; all later errors repeat it.
    """
    try:
        from triton.runtime import interpreter, jit
    except ImportError as error:
        missing[:] = [f"Triton is missing ({error}). {_ADVICE}"]
        if (shell := get_ipython()) is not None:
            shell.set_custom_exc((Exception,), _show_briefly)
        raise ImportError(*missing) from None
    for kind in (jit.JITFunction, interpreter.InterpretedFunction):
        if not hasattr(kind, "run_unguarded"):
            kind.run_unguarded, kind.run = kind.run, _run


def _show_briefly(shell: Any, kind: type, error: Exception, *_: Any, **__: Any) -> None:
    own = getattr(error, "_render_traceback_", lambda: [f"{kind.__name__}: {error}"])()
    shell._showtraceback(kind, error, [*own, *({*missing} - {str(error)})])


def _run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
    compiled = any(map(_is_on_real_gpu, (*args, *kwargs.values())))
    if not warmup and (_recordings or not compiled):
        launch = Launch(kernel.fn, *(_recordings[-1][1:] if _recordings else ()))
        for launches, *_ in _recordings:
            launches.append(launch)
        launch._run(grid, args, kwargs, keep_results=not compiled)
    run = kernel.run_unguarded if warmup or compiled else lambda *_, **__: None
    return run(*args, grid=grid, warmup=warmup, **kwargs)


def _is_on_real_gpu(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_cuda and not simulated_cuda.is_enabled()


@cache
def _interpreted(function: Callable) -> Any:
    from triton.runtime.interpreter import InterpretedFunction

    module, known = function.__globals__, set(function.__globals__)
    interpreted = InterpretedFunction(function)
    interpreted.rewrite()
    # This copies the interpreter's globals into the kernel's module, which needs only one of them.
    for name in set(module) - known - {"interpreter_semantic"}:
        del module[name]
    return interpreted


@contextmanager
def _library_interpreted() -> Iterator[None]:
    """Let the interpreter call the `@triton.jit` functions that a kernel uses, such as `tl.sum`."""
    from triton.runtime import interpreter, jit

    def call(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        scope = interpreter._patch_lang(kernel.fn)
        try:
            return _interpreted(kernel.fn).rewrite()(*args, **kwargs)
        finally:
            scope.restore()

    def bind(kernel: Any, tensor: Any, owner: Any = None) -> Any:  # for methods, such as x.sum()
        return kernel if tensor is None else partial(kernel, tensor)

    with (
        mock.patch.dict(os.environ, TRITON_INTERPRET="1"),
        mock.patch.multiple(jit.JITFunction, create=True, __call__=call, __get__=bind),
    ):
        yield
