"""Stop a student's function that runs too long or uses too much memory.

On the main thread, where SIGALRM exists, a timer looks at the limits ten times per second;
elsewhere a thread does. Both raise subclasses of `BaseException` inside the function and nowhere
else: the code that restores settings is never interrupted.

The time limit counts only the function's own time. It excludes waiting for a processor, because a
right answer must not be rejected on a busy machine, and imports, because an interrupted import
leaves a module half imported. Python cannot stop a single endless call into C.
"""

import contextlib
import ctypes
import random
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic, process_time
from types import FrameType
from typing import Any

import torch
from torch.utils import _python_dispatch

import simulated_cuda

try:
    import resource
except ImportError:  # Windows
    resource = None

GIB = 1 << 30
# What a function may allocate beyond the current use of the process. `MEMORY_LIMIT` is looked at on
# every tick. The system enforces `ADDRESS_SPACE_LIMIT`, which is larger because threads need
# address space too.
MEMORY_LIMIT = 2 * GIB
ADDRESS_SPACE_LIMIT = 4 * GIB
_TICK = 0.1
# An import is stopped after this many seconds, because it probably never ends.
_MAX_IMPORT_SECONDS = 120
# On systems that do not report how long a thread waited for a processor, the time that counts is
# processor time, and this fraction of wall time.
_WALL_TIME_FACTOR = 6
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
_STATM, _MEMINFO = Path("/proc/self/statm"), Path("/proc/meminfo")


class Stopped(BaseException):
    """Raised to stop the code. Not an `Exception`, so student code rarely catches it."""


class OutOfTime(Stopped):
    """The code exceeded its time limit."""


class OutOfMemory(Stopped):
    """The code exceeded its memory limit."""


class CodeLimits:
    """Limits that several calls of `run` share: `seconds` of time, and `memory` in bytes."""

    def __init__(self, seconds: float, *, memory: int = MEMORY_LIMIT) -> None:
        self.seconds = seconds
        self.memory = memory
        self._used = self._importing = 0.0
        self._is_armed = False
        self._lock = threading.Lock()

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return `function(*args, **kwargs)`.

        Raises:
            OutOfTime, OutOfMemory: the function exceeded a limit and was stopped.
        """
        self._max_bytes = bytes_in_use() + min(self.memory, _free_bytes() // 2)
        address_limit = _limit_address_space(max(ADDRESS_SPACE_LIMIT, 2 * self.memory))
        self._native_id = threading.get_native_id()
        self._last = thread_seconds(self._native_id)
        on_main = threading.current_thread() is threading.main_thread()
        stop_watching = self._set_timer if on_main and hasattr(signal, "setitimer") else self._watch
        stop_watching = stop_watching()
        try:
            self._is_armed = True
            return self._call(function, args, kwargs)
        finally:
            # Another thread may have raised an exception that arrives only now.
            while self._is_armed:
                with contextlib.suppress(Stopped), self._lock:
                    self._is_armed = False
            stop_watching()
            self._tick(is_importing=False)
            if address_limit is not None:
                resource.setrlimit(resource.RLIMIT_AS, address_limit)

    def _call(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call the function. Only frames inside of this one are interrupted."""
        return function(*args, **kwargs)

    def _set_timer(self) -> Callable[[], None]:
        """Look at the limits in a signal handler; return the function that ends this."""
        handler = signal.signal(signal.SIGALRM, self._on_signal)
        first, interval = signal.setitimer(signal.ITIMER_REAL, _TICK)
        started = monotonic()

        def restore() -> None:
            remaining = max(0.01, first - (monotonic() - started)) if first else 0
            signal.setitimer(signal.ITIMER_REAL, remaining, interval)
            # A handler of None was not installed from Python and cannot be restored.
            signal.signal(signal.SIGALRM, signal.SIG_DFL if handler is None else handler)

        return restore

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if not self._is_armed:
            return
        error_type = self._exceeded_limit(frame)
        if error_type is None or not self._is_in_function(frame):
            signal.setitimer(signal.ITIMER_REAL, 0.001 if error_type else _TICK)
            return
        # Code that catches everything is interrupted again at once: sooner or later the exception
        # arrives while an `except` clause is running, and leaves the `try` statement.
        signal.setitimer(signal.ITIMER_REAL, 10 ** random.uniform(-6, -3))
        raise error_type

    def _watch(self) -> Callable[[], None]:
        """Look at the limits on another thread; return the function that ends this."""
        ended, ident = threading.Event(), threading.get_ident()

        def watch() -> None:
            while not ended.wait(_TICK):
                frame = sys._current_frames().get(ident)
                error_type = self._exceeded_limit(frame)
                with self._lock:
                    if error_type and self._is_armed and self._is_in_function(frame):
                        _raise_in(ident, error_type)

        watchdog = threading.Thread(target=watch, daemon=True)
        watchdog.start()

        def end() -> None:
            ended.set()
            watchdog.join()
            _raise_in(ident, None)

        return end

    def _tick(self, *, is_importing: bool) -> None:
        now = thread_seconds(self._native_id)
        if is_importing:
            self._importing += now - self._last
        else:
            self._used += now - self._last
        self._last = now

    def _exceeded_limit(self, frame: FrameType | None) -> type[Stopped] | None:
        """Return the exception to raise for the limit that was exceeded; None if none was."""
        is_importing = False
        while frame is not None and frame.f_code is not CodeLimits._call.__code__:
            is_importing = is_importing or frame.f_code.co_filename.startswith(_IMPORTING)
            frame = frame.f_back
        self._tick(is_importing=is_importing)
        if self._used > self.seconds or self._importing > _MAX_IMPORT_SECONDS:
            return OutOfTime
        return OutOfMemory if not is_importing and bytes_in_use() > self._max_bytes else None

    def _is_in_function(self, frame: FrameType | None) -> bool:
        """Return whether the code running now is the function's, and may be interrupted."""
        if frame is None or frame.f_code.co_filename in _CHANGE_MODES:
            return False
        while frame is not None and frame.f_code is not CodeLimits._call.__code__:
            if frame.f_code.co_filename in _PROTECTED:
                return False
            frame = frame.f_back
        return frame is not None


def _raise_in(ident: int, kind: type[BaseException] | None) -> None:
    """Raise an exception in a thread, or with None, take back one that has not been raised yet."""
    argument = ctypes.py_object(kind) if kind else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), argument)


def end_threads(before: set[int]) -> None:
    """Stop the threads whose ids are not in `before`, if they are running Python code."""
    current = threading.get_ident()
    threads = [t for t in threading.enumerate() if t.ident not in before and t.ident != current]
    for thread in threads:
        _raise_in(thread.ident, SystemExit)
    deadline = monotonic() + 0.5
    for thread in threads:
        thread.join(max(0.0, deadline - monotonic()))


def thread_seconds(native_id: int | None = None) -> float:
    """Return the time of a clock that stops while a thread waits for a processor, in seconds.

    `native_id` defaults to the current thread's. Only differences between two calls are meaningful.
    """
    try:
        # Not the attribute of `Thread`: in a forked process, it is the id before the fork.
        native_id = native_id or threading.get_native_id()
        waits = Path(f"/proc/self/task/{native_id}/schedstat").read_text()
        # The second field is the time spent waiting on a run queue, in nanoseconds.
        return monotonic() - int(waits.split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return process_time() + monotonic() / _WALL_TIME_FACTOR


def bytes_in_use() -> int:
    """Return the memory that this process uses, in bytes; 0 if the system does not report it."""
    if resource is None or not _STATM.exists():
        return 0
    return int(_STATM.read_text().split()[1]) * resource.getpagesize()


def _free_bytes() -> int:
    """Return the available memory, in bytes; a very large number if unknown."""
    with contextlib.suppress(OSError, StopIteration, ValueError):
        lines = _MEMINFO.read_text().splitlines()
        return 1024 * int(next(x for x in lines if x.startswith("MemAvailable")).split()[1])
    return 1 << 60


def _limit_address_space(extra: int) -> tuple[int, int] | None:
    """Limit the address space to `extra` bytes beyond its current size; return the previous limit.

    With a real GPU, no limit is set: CUDA reserves far more address space than memory.
    """
    real_gpu = torch.cuda.is_available() and not simulated_cuda.is_enabled()
    if resource is None or not _STATM.exists() or real_gpu:
        return None
    before = resource.getrlimit(resource.RLIMIT_AS)
    size = int(_STATM.read_text().split()[0]) * resource.getpagesize()
    current_limits = [limit for limit in before if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([size + extra, *current_limits]), before[1]))
    return before
