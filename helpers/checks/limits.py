"""Stop a student's function that runs too long or uses too much memory.

On the main thread, where SIGALRM exists, a timer looks at the limits ten times per second. It
raises a subclass of `BaseException` inside the function and nowhere else: the code that restores
settings is never interrupted. On Windows and on other threads there are no limits, and the user
interrupts the kernel.

The time limit counts only the function's own time. It excludes waiting for a processor, because a
right answer must not be rejected on a busy machine, and imports, because an interrupted import
leaves a module half imported. Python cannot stop a single endless call into C.
"""

import contextlib
import random
import signal
import threading
from collections.abc import Callable, Iterator
from mmap import PAGESIZE
from pathlib import Path
from time import monotonic, process_time
from types import FrameType
from typing import Any

import torch
from torch.utils import _python_dispatch

import simulated_cuda
from helpers import kernels

with contextlib.suppress(ImportError):  # Windows
    import resource

# What a function may allocate beyond the current use of the process. `MEMORY_LIMIT` is looked at on
# every tick. The system enforces `ADDRESS_SPACE_LIMIT`, which is larger because threads need
# address space too.
MEMORY_LIMIT = 2 << 30
ADDRESS_SPACE_LIMIT = 4 << 30
_TICK = 0.1
_IMPORTING = "<frozen importlib"
# An exception in one of these files could leave the simulated GPU inconsistent, or be lost.
_SIMULATED = Path(simulated_cuda.__file__).parent
_PROTECTED = {__file__, str(_SIMULATED / "memory.py"), str(_SIMULATED / "device_tags.py")}
# An exception here, but not in the functions that they call, could end a mode such as the simulated
# GPU's for good.
_CHANGE_MODES = {
    module.__file__
    for module in (contextlib, torch.overrides, _python_dispatch, torch.autograd.grad_mode)
}
# Calls the programs of a kernel in a function `__call__`.
_INTERPRETER = "/triton/runtime/interpreter.py"
_STATM = Path("/proc/self/statm")


class Stopped(BaseException):
    """Raised to stop the code. Not an `Exception`, so student code rarely catches it."""


class OutOfTime(Stopped):
    """The code exceeded its time limit."""


class OutOfMemory(Stopped):
    """The code exceeded its memory limit."""


class CodeLimits:
    """Limits of memory, and of `seconds` of time for all calls of `run` together."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._used = 0.0

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return `function(*args, **kwargs)`; raise OutOfTime or OutOfMemory if it is stopped."""
        on_main = threading.current_thread() is threading.main_thread()
        if not on_main or not hasattr(signal, "setitimer"):
            return function(*args, **kwargs)
        size, resident = _bytes_in_use()
        self._max_bytes = resident + MEMORY_LIMIT
        self._last = thread_seconds()
        with _address_space_limit(size + ADDRESS_SPACE_LIMIT):
            handler = signal.signal(signal.SIGALRM, self._on_signal)
            try:
                return self._call(function, args, kwargs)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                # A handler of None was not installed from Python and cannot be restored.
                signal.signal(signal.SIGALRM, signal.SIG_DFL if handler is None else handler)
                self._used += thread_seconds() - self._last

    def _call(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Start the timer and call the function. Only code called from here is interrupted."""
        signal.setitimer(signal.ITIMER_REAL, _TICK)
        return function(*args, **kwargs)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """Raise an exception if a limit was exceeded and the function may be interrupted here."""
        files, in_program = [], False
        while frame is not None and frame.f_code is not CodeLimits._call.__code__:
            called = files[-1:]
            files.append(frame.f_code.co_filename)
            if frame.f_code.co_name == "__call__" and files[-1].endswith(_INTERPRETER):
                in_program |= called != [] and called != files[-1:]
            frame = frame.f_back
        if frame is None:  # the function has returned
            return
        is_importing = any(file.startswith(_IMPORTING) for file in files)
        last, self._last = self._last, thread_seconds()
        self._used += 0 if is_importing else self._last - last
        if self._used > self.seconds:
            error_type = OutOfTime
        elif not is_importing and _bytes_in_use()[1] > self._max_bytes:
            error_type = OutOfMemory
        else:
            signal.setitimer(signal.ITIMER_REAL, _TICK)
            return
        # The launch of a kernel replaces parts of Triton and puts them back.
        in_launch = kernels.__file__ in files
        if _PROTECTED & {*files} or _CHANGE_MODES & {*files[:1]} or (in_launch and not in_program):
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            return
        # Code that catches everything is interrupted again at once: sooner or later the exception
        # arrives while an `except` clause is running, and leaves the `try` statement.
        signal.setitimer(signal.ITIMER_REAL, 1 if in_launch else 10 ** random.uniform(-6, -3))
        raise error_type


def thread_seconds() -> float:
    """Return the seconds on a clock that stops while this thread waits for a processor."""
    try:
        waits = Path("/proc/thread-self/schedstat").read_text()
        # The second field is the time spent waiting on a run queue, in nanoseconds.
        return monotonic() - int(waits.split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        # A fraction of wall time, so that a function that only waits is stopped too.
        return process_time() + monotonic() / 6


def _bytes_in_use() -> tuple[int, int]:
    """Return this process's address space and memory; zeros if the system does not report them."""
    pages = _STATM.read_text().split()[:2] if _STATM.exists() else (0, 0)
    return int(pages[0]) * PAGESIZE, int(pages[1]) * PAGESIZE


@contextlib.contextmanager
def _address_space_limit(size: int) -> Iterator[None]:
    """Limit the address space of this process during the block, where its size is known.

    With a real GPU, there is no limit: CUDA reserves far more address space than memory.
    """
    real_gpu = torch.cuda.is_available() and not simulated_cuda.is_enabled()
    if not _STATM.exists() or real_gpu:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    limits = [limit for limit in (size, *before) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
