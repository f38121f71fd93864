"""Stop student code that takes too long or uses too much memory, on any thread and system.

Where SIGALRM exists, a timer checks the main thread ten times per second; elsewhere another thread
does. The exceptions they raise are not `Exception`s, so `except Exception` does not catch them.
With the timer, code that catches everything is interrupted again in its `except` clause, line by
line.

Python cannot stop a single endless call into C, such as `sum(itertools.repeat(0))`, nor, without
the timer, a loop that catches everything and sleeps.

The time limit counts the student's code only: neither the time in which the thread waits for a
processor that other programs use, nor the time in which Python imports a module. A right answer
must not be rejected because the machine is busy, and an interrupted import leaves a module half
imported (torch imports its compiler when the first optimizer is created, which takes seconds).
"""

import contextlib
import ctypes
import signal
import sys
import threading
from pathlib import Path
from time import monotonic, process_time
from types import FrameType, TracebackType

import simulated_cuda
from helpers.checks.memory import bytes_in_use, free_bytes, limit_addresses, restore_addresses

GIB = 1 << 30
# How much the code may allocate beyond what the process already uses. `MEMORY` is checked on every
# tick. `ADDRESSES`, which the system enforces, is larger, because other threads need some.
MEMORY = 2 * GIB
ADDRESSES = 4 * GIB
_TICK = 0.1
# Seconds after which code that caught the exception is interrupted again.
_RETRY_SECONDS = 0.01
_THIS_PACKAGE = str(Path(__file__).parent)
_IMPORTING = "<frozen importlib"
# An exception on the line that leaves a `with` block skips its `__exit__`: the simulator's lock
# would stay locked. importlib must finish cleaning up after a failed import.
_SIMULATOR = Path(simulated_cuda.__file__).parent
_ALLOCATOR = str(_SIMULATOR / "memory.py")
_NEVER_TRACED = (_IMPORTING, str(_SIMULATOR))
# An import that takes longer than this, in seconds, is stopped: it probably never ends.
_MAX_IMPORT_SECONDS = 120
# On systems that do not report how long a thread waited for a processor, code may take this many
# times its limit in wall time, as long as its processor time stays within the limit.
_WALL_TIME_FACTOR = 6


class Stopped(BaseException):
    """The code was stopped. Not an `Exception`, so that student code rarely catches it."""


class OutOfTime(Stopped):
    """The code exceeded its time limit."""


class OutOfMemory(Stopped):
    """The code exceeded its memory limit."""


def own_seconds(thread: threading.Thread | None = None) -> float:
    """Return a time that passes while a thread computes or sleeps, not while it only waits to run.

    Without an argument, that of the current thread.
    """
    thread = thread or threading.current_thread()
    try:
        waits = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text()
        # The second number: nanoseconds in which the thread waited on a run queue.
        return monotonic() - int(waits.split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return max(process_time(), monotonic() / _WALL_TIME_FACTOR)


class _ThreadTime:
    """The time in which a thread ran or slept, not counting imports and waiting for a processor."""

    def __init__(self, thread: threading.Thread) -> None:
        self._thread = thread
        self._started = self._last = own_seconds(thread)
        self.importing = 0.0

    def tick(self, *, importing: bool) -> None:
        """Record what the thread has done since the last tick."""
        now = own_seconds(self._thread)
        if importing:
            self.importing += now - self._last
        self._last = now

    @property
    def seconds(self) -> float:
        """Seconds up to the last tick."""
        return self._last - self._started - self.importing


class CodeLimits:
    """`with CodeLimits(seconds):` raises `OutOfTime` or `OutOfMemory` in the block.

    At the end of the block, signal handler, timer, address limit and tracing are restored. The same
    object can limit several blocks, one after another, which then share the seconds. `boundary` is
    the frame that contains the next block, if that is not the caller's.
    """

    def __init__(self, seconds: float, *, memory: int = MEMORY) -> None:
        self.seconds = seconds
        self.memory = memory
        self.boundary: FrameType | None = None
        self._used = 0.0

    def __enter__(self) -> "CodeLimits":
        self._boundary = self.boundary or sys._getframe(1)
        self._handling_signal = self._over = self._stopped = False
        self._trace = sys.gettrace()
        self._max_bytes = bytes_in_use() + min(self.memory, free_bytes() // 2)
        self._time = _ThreadTime(threading.current_thread())
        self._addresses = limit_addresses(max(ADDRESSES, 2 * self.memory))
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
            left = max(0.01, first - (monotonic() - self._started)) if first else 0
            signal.setitimer(signal.ITIMER_REAL, left, interval)
            # None: a handler that was not installed from Python and cannot be restored from here.
            signal.signal(
                signal.SIGALRM, signal.SIG_DFL if self._handler is None else self._handler
            )
        else:
            self._end.set()
            self._watchdog.join()
            _raise_in(threading.get_ident(), None)
        sys.settrace(self._trace)
        restore_addresses(self._addresses)

    def _verdict(self, frame: FrameType | None) -> type[Stopped] | None:
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
        # The next signal may arrive during these calls.
        if self._over or self._handling_signal:
            return
        self._handling_signal = True
        try:
            stopped = self._verdict(frame)
            student_frames = self._frames_to_stop(frame)
        finally:
            self._handling_signal = False
        if stopped is None or student_frames is None:
            return
        self._stopped = True
        # Once soon, then less often: if handling a signal took longer than the time to the next,
        # signals would interrupt each other, and the code that restores settings would not run.
        signal.setitimer(signal.ITIMER_REAL, _RETRY_SECONDS, _TICK)
        self._interrupt_lines(student_frames, stopped)
        raise stopped

    def _is_importing(self, frame: FrameType | None) -> bool:
        while frame is not None and frame is not self._boundary:
            if frame.f_code.co_filename.startswith(_IMPORTING):
                return True
            frame = frame.f_back
        return False

    def _frames_to_stop(self, frame: FrameType | None) -> list[FrameType] | None:
        """Return the frames of the block outside this package; None if nothing may be stopped now.

        Nothing may be stopped while this package restores settings or the simulated GPU changes its
        list of blocks, nor, after the first interruption, while only this package is running.
        """
        found = []
        while frame is not self._boundary:
            if frame is None or frame.f_code is CodeLimits.__exit__.__code__:
                return None
            if frame.f_code.co_filename == _ALLOCATOR:
                return None
            own = frame.f_code.co_filename.startswith(_THIS_PACKAGE)
            back = frame.f_back
            if own and back is not None and back.f_code.co_filename == contextlib.__file__:
                return None
            if not own and not frame.f_code.co_filename.startswith(_NEVER_TRACED):
                found.append(frame)
            frame = back
        return found if found or not self._stopped else None

    def _interrupt_lines(self, frames: list[FrameType], stopped: type[Stopped]) -> None:
        """Raise again at the next line of these frames, such as the `pass` of `except: pass`."""

        def at_line(frame: FrameType, event: str, argument: object) -> object:
            if event == "line" and not self._over:
                raise stopped
            return at_line

        for frame in frames:
            frame.f_trace = at_line
        sys.settrace(lambda frame, event, argument: None)

    def _watch(self, ident: int) -> None:
        while not self._end.wait(_TICK):
            frame = sys._current_frames().get(ident)
            stopped = self._verdict(frame)
            if stopped is None:
                continue
            if self._frames_to_stop(frame) is not None:
                self._stopped = True
                _raise_in(ident, stopped)


def end_threads(before: set[int]) -> None:
    """Stop the threads whose ids are not in `before`, if they are running Python code."""
    mine = threading.get_ident()
    left = [t for t in threading.enumerate() if t.ident not in before and t.ident != mine]
    for thread in left:
        _raise_in(thread.ident, SystemExit)
    deadline = monotonic() + 0.5
    for thread in left:
        thread.join(max(0.0, deadline - monotonic()))


def _raise_in(ident: int | None, kind: type[BaseException] | None) -> None:
    if ident is not None:
        argument = ctypes.py_object(kind) if kind else None
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), argument)
