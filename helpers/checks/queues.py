"""A device that works while Python continues, as a GPU does, to check who waits for it."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import perf_counter
from types import TracebackType
from typing import Any
from unittest.mock import patch

import torch


class Device:
    """`with Device() as device:` has a queue of work that a thread processes.

    `took` holds the seconds that each piece of work really took, in order; `asked` tells whether
    an event was asked for its state; `returns` holds the times at which a wait for it ended.
    """

    def __init__(self) -> None:
        self.took: list[float] = []
        self.asked = False
        self.returns: list[float] = []
        self._work: queue.Queue[Callable[[], None]] = queue.Queue()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._go, daemon=True)

    def __enter__(self) -> "Device":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end.set()
        self._work.put(lambda: None)
        self._thread.join()

    def launch(self, seconds: float) -> None:
        """Queue work of this length and return at once."""
        self._work.put(lambda: self.spend(seconds))

    def then(self, call: Callable[[], None]) -> None:
        """Queue a call that takes no time."""
        self._work.put(call)

    def spend(self, seconds: float) -> None:
        """Work now, for this long."""
        began = perf_counter()
        self._end.wait(seconds)
        self.took.append(perf_counter() - began)

    def wait(self) -> None:
        """Return when the queue is empty."""
        self._work.join()
        self.returns.append(perf_counter())

    def _go(self) -> None:
        while not self._end.is_set():
            self._work.get()()
            self._work.task_done()


class _Event:
    """Replaces `torch.cuda.Event`: a mark in the queue, with the time it was reached."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._reached = threading.Event()
        self._time = 0.0

    def record(self, stream: Any = None) -> None:
        """Add the mark to the queue."""
        self._device.then(self._reach)

    def _reach(self) -> None:
        self._time = perf_counter()
        self._reached.set()

    def query(self) -> bool:
        """Whether the mark has been reached."""
        self._device.asked = True
        return self._reached.is_set()

    def synchronize(self) -> None:
        """Wait until the mark is reached."""
        self._reached.wait()
        self._device.returns.append(perf_counter())

    def elapsed_time(self, end_event: "_Event") -> float:
        """Milliseconds from this mark to the other."""
        if not (self.query() and end_event.query()):
            raise RuntimeError(
                "Both events must be completed before calculating elapsed time: device not ready"
            )
        return 1000 * (end_event._time - self._time)


@contextmanager
def replaces_the_gpu(device: Device) -> Iterator[None]:
    """Make torch's functions that wait for a GPU, and its events, use `device`."""

    def wait(*args: Any, **kwargs: Any) -> None:
        device.wait()

    with ExitStack() as stack:
        for owner in (torch.cuda, torch.accelerator, torch.cuda.Stream):
            stack.enter_context(patch.object(owner, "synchronize", wait))
        event = patch.object(torch.cuda, "Event", lambda *args, **kwargs: _Event(device))
        stack.enter_context(event)
        yield


@contextmanager
def nothing_to_wait_for() -> Iterator[None]:
    """Make torch's functions that wait for a GPU fail, as on a machine without one."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("this machine has no GPU to wait for")

    with (
        patch.object(torch.cuda, "synchronize", refuse),
        patch.object(torch.accelerator, "synchronize", refuse),
    ):
        yield
