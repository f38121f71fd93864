"""A simulated asynchronous device, to check whether code synchronizes with a GPU.

Its time is simulated too, so the results do not depend on how busy the machine is.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch

from helpers.checks.clocks import Clock

# Simulated seconds to launch work and to query whether it is done, similar to a real GPU. If these
# calls were free, a loop that launches or queries until some time has passed would never end.
_LAUNCH_SECONDS = 5e-6
_QUERY_SECONDS = 2e-5


class AsyncDevice:
    """A simulated device that processes a queue of work in order.

    Attributes:
        clock: the clock of the device and the program.
        durations: the seconds of work of each launch, in order.
        was_queried: whether the program has checked if the work is done.
    """

    def __init__(self) -> None:
        self.clock = Clock()
        self.durations: list[float] = []
        self.was_queried = False
        self._idle_from = 0.0

    def launch(self, seconds: float) -> None:
        """Queue work that takes `seconds`, and return immediately."""
        self.clock.compute(_LAUNCH_SECONDS)
        self._idle_from = self.end_of_work() + seconds
        self.durations.append(seconds)

    def end_of_work(self) -> float:
        """Return the clock time, in seconds, at which all queued work is done."""
        return max(self._idle_from, self.clock.seconds)

    def is_done(self, moment: float | None = None) -> bool:
        """Return whether the clock has reached `moment`; without it, whether the queue is empty."""
        self.was_queried = True
        self.clock.compute(_QUERY_SECONDS)
        return self.clock.seconds >= (self._idle_from if moment is None else moment)

    def wait(self) -> None:
        """Wait until the queue is empty."""
        self.clock.wait_until(self._idle_from)


class _Event:
    """Replacement for `torch.cuda.Event`: a position in the queue and the time it is reached."""

    def __init__(self, device: AsyncDevice) -> None:
        self._device = device
        self._reached = 0.0

    def record(self, stream: Any = None) -> None:
        """Record the event at the end of the queue."""
        self._reached = self._device.end_of_work()

    def query(self) -> bool:
        """Return whether the queue has reached the event."""
        return self._device.is_done(self._reached)

    def synchronize(self) -> None:
        """Wait until the queue reaches the event."""
        self._device.clock.wait_until(self._reached)

    def elapsed_time(self, end_event: "_Event") -> float:
        """Return the milliseconds from this event to `end_event`."""
        if max(self._reached, end_event._reached) > self._device.clock.seconds:
            raise RuntimeError(
                "Both events must be completed before calculating elapsed time: device not ready"
            )
        return 1000 * (end_event._reached - self._reached)


@contextmanager
def simulated_gpu(device: AsyncDevice) -> Iterator[None]:
    """Patch torch's events and synchronization functions to use `device`."""

    def wait(*args: Any, **kwargs: Any) -> None:
        device.wait()

    def record_event(stream: Any, event: _Event | None = None) -> _Event:
        event = event or _Event(device)
        event.record()
        return event

    with ExitStack() as stack:
        for owner in (torch.cuda, torch.accelerator, torch.cuda.Stream):
            stack.enter_context(patch.object(owner, "synchronize", wait))
        for owner in (torch.cuda, torch):
            event = patch.object(owner, "Event", lambda *args, **kwargs: _Event(device))
            stack.enter_context(event)
        query = patch.object(torch.cuda.Stream, "query", lambda stream: device.is_done())
        stack.enter_context(query)
        stack.enter_context(patch.object(torch.cuda.Stream, "record_event", record_event))
        yield


@contextmanager
def no_gpu_to_synchronize() -> Iterator[None]:
    """Make torch's synchronization functions raise, as on a machine without a GPU."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("this machine has no GPU to wait for")

    with (
        patch.object(torch.cuda, "synchronize", refuse),
        patch.object(torch.accelerator, "synchronize", refuse),
    ):
        yield
