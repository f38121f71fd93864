"""A clock for the time limits of checks, which stops while a thread waits for a processor."""

import threading
from pathlib import Path
from time import monotonic, process_time

# Used on systems that do not report how long a thread waited for a processor. Wall time may reach
# this many times the limit, as long as processor time stays within the limit.
_WALL_TIME_FACTOR = 6


class _FallbackClock:
    """For systems that do not report how long a thread waited for a processor."""

    def __init__(self) -> None:
        self._seconds, self._last = 0.0, (process_time(), monotonic())

    def __call__(self) -> float:
        now = process_time(), monotonic()
        processor, wall = (new - old for new, old in zip(now, self._last, strict=True))
        self._seconds += max(processor, wall / _WALL_TIME_FACTOR)
        self._last = now
        return self._seconds


_fallback_clock = _FallbackClock()


def thread_seconds(native_id: int | None = None) -> float:
    """Return the time of a clock that stops while a thread waits for a processor, in seconds.

    `native_id` defaults to the current thread's. Only differences between two calls are meaningful.
    """
    # Not the attribute of the `Thread` object: in a forked process, it is the id before the fork.
    native_id = native_id or threading.get_native_id()
    try:
        waits = Path(f"/proc/self/task/{native_id}/schedstat").read_text()
        # The second field is the time spent waiting on a run queue, in nanoseconds.
        return monotonic() - int(waits.split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return _fallback_clock()


class ThreadTime:
    """Time a thread spent running or sleeping, excluding imports and waits for a processor."""

    def __init__(self, native_id: int) -> None:
        self._native_id = native_id
        self._started = self._last = thread_seconds(native_id)
        self.importing = 0.0

    def tick(self, *, importing: bool) -> None:
        """Record the time since the last tick, as import time if `importing`."""
        now = thread_seconds(self._native_id)
        if importing:
            self.importing += now - self._last
        self._last = now

    @property
    def seconds(self) -> float:
        """Seconds up to the last tick."""
        return self._last - self._started - self.importing
