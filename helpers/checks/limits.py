"""Stop student code that runs too long or uses too much memory, on any thread and platform.

On the main thread, where SIGALRM exists, a timer checks the limits ten times per second. Otherwise
a watchdog thread checks them. Both raise subclasses of `BaseException`, which `except Exception`
does not catch. If the code catches them anyway, the timer raises again on each line of the `except`
clause.

Python cannot stop a single endless call into C, such as `sum(itertools.repeat(0))`. Without the
timer, it also cannot stop a loop that catches everything and sleeps.

The time limit counts only the student's code. It excludes the time in which the thread waits for a
processor, because a right answer must not be rejected on a busy machine. It also excludes imports:
an interrupted import leaves a module half imported, and some imports take seconds (torch imports
its compiler when the first optimizer is created).
"""

import contextlib
import ctypes
import signal
import sys
import threading
from pathlib import Path
from time import monotonic
from types import FrameType, TracebackType

import simulated_cuda
from helpers.checks.memory import (
    bytes_in_use,
    free_bytes,
    limit_address_space,
    restore_address_space,
)
from helpers.checks.thread_time import ThreadTime

GIB = 1 << 30
# Limits on what the code may allocate beyond the current use of the process. `MEMORY_LIMIT` is
# checked on every tick. `ADDRESS_SPACE_LIMIT` is enforced by the system; it is larger because other
# threads need address space too.
MEMORY_LIMIT = 2 * GIB
ADDRESS_SPACE_LIMIT = 4 * GIB
_TICK = 0.1
# Seconds until code that caught the exception is interrupted again.
_RETRY_SECONDS = 0.01
_THIS_PACKAGE = str(Path(__file__).parent)
_IMPORTING = "<frozen importlib"
# Files whose lines are never interrupted. An exception on the line that leaves a `with` block skips
# `__exit__`, so the simulator's lock would stay locked. importlib must finish its cleanup after a
# failed import.
_SIMULATOR = Path(simulated_cuda.__file__).parent
_ALLOCATOR = str(_SIMULATOR / "memory.py")
_NEVER_TRACED = (_IMPORTING, str(_SIMULATOR))
# Seconds after which an import is stopped, because it probably never ends.
_MAX_IMPORT_SECONDS = 120


class Stopped(BaseException):
    """Raised to stop the code. Not an `Exception`, so student code rarely catches it."""


class OutOfTime(Stopped):
    """The code exceeded its time limit."""


class OutOfMemory(Stopped):
    """The code exceeded its memory limit."""


class CodeLimits:
    """`with CodeLimits(seconds):` raises `OutOfTime` or `OutOfMemory` in the block.

    Leaving the block restores the signal handler, timer, address limit and tracing. One object can
    limit several blocks in a row, which share its `seconds`. Set `boundary` to the frame that
    contains the next block if it is not the caller's frame.
    """

    def __init__(self, seconds: float, *, memory: int = MEMORY_LIMIT) -> None:
        self.seconds = seconds
        self.memory = memory
        self.boundary: FrameType | None = None
        self._used = 0.0

    def __enter__(self) -> "CodeLimits":
        self._boundary = self.boundary or sys._getframe(1)
        self._handling_signal = self._over = self._stopped = False
        self._trace = sys.gettrace()
        self._max_bytes = bytes_in_use() + min(self.memory, free_bytes() // 2)
        self._time = ThreadTime(threading.get_native_id())
        self._old_address_limit = limit_address_space(max(ADDRESS_SPACE_LIMIT, 2 * self.memory))
        on_main = threading.current_thread() is threading.main_thread()
        self._watchdog = None
        if on_main and hasattr(signal, "setitimer"):
            self._handler = signal.signal(signal.SIGALRM, self._on_signal)
            self._timer = signal.setitimer(signal.ITIMER_REAL, _TICK, _TICK)
            self._started = monotonic()
        else:
            self._end = threading.Event()
            self._watchdog = threading.Thread(
                target=self._watch, args=(threading.get_ident(),), daemon=True
            )
            self._watchdog.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over = True
        self.boundary = None
        self._time.tick(importing=False)
        self._used += self._time.seconds
        if self._watchdog is None:
            first, interval = self._timer
            remaining = max(0.01, first - (monotonic() - self._started)) if first else 0
            signal.setitimer(signal.ITIMER_REAL, remaining, interval)
            # A handler of None was not installed from Python and cannot be restored.
            signal.signal(
                signal.SIGALRM, signal.SIG_DFL if self._handler is None else self._handler
            )
        else:
            self._end.set()
            self._watchdog.join()
            _raise_in(threading.get_ident(), None)
        sys.settrace(self._trace)
        restore_address_space(self._old_address_limit)

    def _exceeded_limit(self, frame: FrameType | None) -> type[Stopped] | None:
        """Return the exception to raise for the limit that was exceeded; None if none was."""
        importing = self._is_importing(frame)
        self._time.tick(importing=importing)
        if (
            self._used + self._time.seconds > self.seconds
            or self._time.importing > _MAX_IMPORT_SECONDS
        ):
            return OutOfTime
        if importing:
            return None
        return OutOfMemory if bytes_in_use() > self._max_bytes else None

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        # Another signal may arrive while this one is handled.
        if self._over or self._handling_signal:
            return
        self._handling_signal = True
        try:
            error_type = self._exceeded_limit(frame)
            student_frames = self._frames_to_stop(frame)
        finally:
            self._handling_signal = False
        if error_type is None or student_frames is None:
            return
        self._stopped = True
        # Interrupt again soon, then less often. If signals arrived faster than they are handled,
        # they would interrupt each other, and the code that restores settings would not run.
        signal.setitimer(signal.ITIMER_REAL, _RETRY_SECONDS, _TICK)
        self._interrupt_lines(student_frames, error_type)
        raise error_type

    def _is_importing(self, frame: FrameType | None) -> bool:
        while frame is not None and frame is not self._boundary:
            if frame.f_code.co_filename.startswith(_IMPORTING):
                return True
            frame = frame.f_back
        return False

    def _frames_to_stop(self, frame: FrameType | None) -> list[FrameType] | None:
        """Return the block's frames outside this package; None if it must not be stopped now.

        The block must not be stopped while this package restores settings, or while the simulated
        GPU changes its list of memory blocks. After the first interruption, it also must not be
        stopped while only code in this package is running.
        """
        frames = []
        while frame is not self._boundary:
            if frame is None or frame.f_code is CodeLimits.__exit__.__code__:
                return None
            if frame.f_code.co_filename == _ALLOCATOR:
                return None
            is_own = frame.f_code.co_filename.startswith(_THIS_PACKAGE)
            caller = frame.f_back
            if is_own and caller is not None and caller.f_code.co_filename == contextlib.__file__:
                return None
            if not is_own and not frame.f_code.co_filename.startswith(_NEVER_TRACED):
                frames.append(frame)
            frame = caller
        return frames if frames or not self._stopped else None

    def _interrupt_lines(self, frames: list[FrameType], error_type: type[Stopped]) -> None:
        """Raise again on the next line of these frames, such as `pass` in `except: pass`."""

        def at_line(frame: FrameType, event: str, argument: object) -> object:
            if event == "line" and not self._over:
                raise error_type
            return at_line

        for frame in frames:
            frame.f_trace = at_line
        sys.settrace(lambda frame, event, argument: None)

    def _watch(self, ident: int) -> None:
        while not self._end.wait(_TICK):
            frame = sys._current_frames().get(ident)
            error_type = self._exceeded_limit(frame)
            if error_type is None:
                continue
            if self._frames_to_stop(frame) is not None:
                self._stopped = True
                _raise_in(ident, error_type)


def end_threads(before: set[int]) -> None:
    """Stop the threads whose ids are not in `before`, if they are running Python code."""
    current = threading.get_ident()
    threads = [t for t in threading.enumerate() if t.ident not in before and t.ident != current]
    for thread in threads:
        _raise_in(thread.ident, SystemExit)
    deadline = monotonic() + 0.5
    for thread in threads:
        thread.join(max(0.0, deadline - monotonic()))


def _raise_in(ident: int | None, kind: type[BaseException] | None) -> None:
    if ident is not None:
        argument = ctypes.py_object(kind) if kind else None
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), argument)
