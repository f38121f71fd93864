"""An asynchronous device, like a GPU, to check whether code synchronizes with it.

Its time is simulated, so the results do not depend on how busy the machine is.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch

from helpers.checks.clocks import Clock

# Simulated cost, in seconds, of launching work and of querying whether it is done, about that of a
# real GPU. It also ends loops that launch or query until some time has passed.
_LAUNCHING = 5e-6
_ASKING = 2e-5


class Device:
    """A device that processes a queue of work in order.

    `clock` is its clock; `took` has the duration of each piece of work, in order; `asked` is
    whether the program has queried if the work is done.
    """

    def __init__(self) -> None:
        self.clock = Clock()
        self.took: list[float] = []
        self.asked = False
        self._idle_from = 0.0

    def launch(self, seconds: float) -> None:
        """Queue work that takes `seconds`, and return immediately."""
        self.clock.compute(_LAUNCHING)
        self._idle_from = self.end_of_work() + seconds
        self.took.append(seconds)

    def end_of_work(self) -> float:
        """Return when all work queued so far is done, in seconds of the clock."""
        return max(self._idle_from, self.clock.seconds)

    def is_done(self, moment: float | None = None) -> bool:
        """Return whether the clock has reached `moment`; without it, whether the queue is empty."""
        self.asked = True
        self.clock.compute(_ASKING)
        return self.clock.seconds >= (self._idle_from if moment is None else moment)

    def wait(self) -> None:
        """Wait until the queue is empty."""
        self.clock.wait_until(self._idle_from)


class _Event:
    """Replaces `torch.cuda.Event`: a mark in the queue, with the time at which it is reached."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._reached = 0.0

    def record(self, stream: Any = None) -> None:
        """Add the mark to the queue."""
        self._reached = self._device.end_of_work()

    def query(self) -> bool:
        """Return whether the mark has been reached."""
        return self._device.is_done(self._reached)

    def synchronize(self) -> None:
        """Wait until the mark is reached."""
        self._device.clock.wait_until(self._reached)

    def elapsed_time(self, end_event: "_Event") -> float:
        """Return the milliseconds from this mark to the other."""
        if max(self._reached, end_event._reached) > self._device.clock.seconds:
            raise RuntimeError(
                "Both events must be completed before calculating elapsed time: device not ready"
            )
        return 1000 * (end_event._reached - self._reached)


@contextmanager
def simulated_gpu(device: Device) -> Iterator[None]:
    """Make torch's functions that wait for a GPU, and its events, use `device`."""

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
    """Make torch's functions that wait for a GPU fail, as on a machine without one."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("this machine has no GPU to wait for")

    with (
        patch.object(torch.cuda, "synchronize", refuse),
        patch.object(torch.accelerator, "synchronize", refuse),
    ):
        yield
