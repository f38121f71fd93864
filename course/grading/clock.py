"""Time limits that the grader enforces from outside the sandbox."""

from __future__ import annotations

import time

from course.grading.limits import Stop, StopReason
from course.grading.sandbox import Sandbox

# If a cell gets less than 1/50 of the wall time, the machine is too busy for grading.
_MAX_SLOWDOWN = 50


class Clock:
    """A time limit for code that the worker cannot interrupt, such as a C function that hangs."""

    def __init__(self, sandbox: Sandbox, seconds: float) -> None:
        self._sandbox = sandbox
        self.start(seconds)

    def now(self) -> float:
        """Return the seconds that the sandbox has used so far."""
        return self._sandbox.seconds()

    def start(self, seconds: float) -> None:
        """Restart the clock with a limit of `seconds` seconds."""
        self._seconds = seconds
        self._until = self.now() + seconds
        self._wall_until = time.monotonic() + _MAX_SLOWDOWN * seconds

    def exceeded_limit(self) -> Stop | None:
        """Return a `Stop` if the time limit is exceeded, or None."""
        if self.now() > self._until:
            text = f"took more than {self._seconds:g} seconds and could not be stopped"
            return Stop(StopReason.TIME, text)
        if time.monotonic() > self._wall_until:
            return Stop(StopReason.BUSY, "got too little CPU time on this busy machine")
        return None
