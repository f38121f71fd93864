"""A simulated asynchronous device with a clock of its own, to check code that measures time.

Time is simulated, so the results do not depend on how busy the machine is.
"""

import threading
import time
import timeit
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import torch

CLOCKS = [
    name + suffix
    for name in ("perf_counter", "monotonic", "time", "process_time", "thread_time")
    for suffix in ("", "_ns")
]
# Simulated seconds to read a clock, to launch work, and to ask whether it is done. If these were
# free, a loop that waits until some time has passed would never end.
READ_SECONDS, LAUNCH_SECONDS, QUERY_SECONDS = 1e-6, 5e-6, 2e-5


class Queue:
    """A device that processes its work in order, and the clock of the program that launches it.

    Attributes:
        seconds: the time, and `busy_seconds` the part in which the processor was busy.
        durations: the seconds of work of each launch, in order.
        slept: whether the program has slept without asking whether the work is done.
    """

    def __init__(self):
        self.seconds = self.busy_seconds = self.idle_from = 0.0
        self.durations = []
        self.slept = self.was_queried = False

    def compute(self, seconds):
        """Advance the clock while the processor is busy."""
        self.seconds += seconds
        self.busy_seconds += seconds

    def sleep(self, seconds):
        """Advance the clock while the processor is idle, like `time.sleep`."""
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        self.slept = True
        self.seconds += seconds

    def launch(self, seconds):
        """Queue work that takes `seconds`, and return immediately."""
        self.compute(LAUNCH_SECONDS)
        self.idle_from = self.end_of_work() + seconds
        self.durations.append(seconds)

    def end_of_work(self):
        """Return the time at which all queued work is done."""
        return max(self.idle_from, self.seconds)

    def is_done(self, moment):
        """Return whether the clock has reached `moment`."""
        self.was_queried = True
        self.compute(QUERY_SECONDS)
        return self.seconds >= moment

    def wait(self, *args, **kwargs):
        """Wait until the queue is empty."""
        self.seconds = self.end_of_work()

    def read(self, name):
        """Return the time of a clock of the module `time`."""
        self.compute(READ_SECONDS)
        seconds = self.busy_seconds if name[:2] in ("pr", "th") else self.seconds
        return round(1e9 * seconds) if name.endswith("_ns") else seconds


class Event:
    """Replacement for `torch.cuda.Event`: a position in the queue and the time it is reached."""

    def __init__(self, queue):
        self.queue, self.reached = queue, 0.0

    def record(self, stream=None):
        self.reached = self.queue.end_of_work()

    def query(self):
        return self.queue.is_done(self.reached)

    def synchronize(self):
        self.queue.seconds = max(self.queue.seconds, self.reached)

    def elapsed_time(self, end_event):
        if max(self.reached, end_event.reached) > self.queue.seconds:
            raise RuntimeError("Both events must be completed before calculating elapsed time")
        return 1000 * (end_event.reached - self.reached)


@contextmanager
def simulated(queue, function, *, has_gpu=True):
    """Make clocks, `sleep`, events and synchronization in this thread those of the queue.

    Names that the module of `function` imported from `time` and `timeit` are replaced too. Without
    a GPU, synchronization raises an error, as on such a machine.
    """
    thread = threading.get_ident()

    def replace(real, simulated_function):
        # The threads of the notebook's kernel still need the real time.
        return lambda *args: (simulated_function if is_here() else real)(*args)

    def is_here():
        return threading.get_ident() == thread

    def refuse(*args):
        raise RuntimeError("this machine has no GPU to wait for")

    def record_event(stream, event=None):
        event = event or Event(queue)
        event.record()
        return event

    new = {getattr(time, n): replace(getattr(time, n), lambda n=n: queue.read(n)) for n in CLOCKS}
    new[time.sleep] = replace(time.sleep, queue.sleep)
    names = getattr(function, "__globals__", {})
    with ExitStack() as stack:
        for namespace in (vars(time), vars(timeit), names):
            values = {k: new[v] for k, v in namespace.items() if callable(v) and in_(v, new)}
            stack.enter_context(patch.dict(namespace, values))
        for target in (timeit.Timer.__init__, timeit.timeit, timeit.repeat):
            defaults = tuple(new.get(v, v) if in_(v, new) else v for v in target.__defaults__)
            stack.enter_context(patch.object(target, "__defaults__", defaults))
        patches = [
            (owner, "synchronize", queue.wait if has_gpu else refuse)
            for owner in (torch.cuda, torch.accelerator, torch.cuda.Stream)
        ]
        patches += [
            (owner, "Event", lambda *args, **kwargs: Event(queue)) for owner in (torch.cuda, torch)
        ]
        patches += [
            (torch.cuda.Stream, "query", lambda s: queue.is_done(queue.idle_from)),
            (torch.cuda.Stream, "record_event", record_event),
        ]
        for owner, name, value in patches:
            stack.enter_context(patch.object(owner, name, value))
        yield


def in_(value, table):
    try:
        return value in table
    except TypeError:  # not hashable
        return False
