"""A simulated device and clock: times do not depend on how busy the machine is."""

import datetime
import inspect
import threading
import time
import timeit
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import torch

# Simulated seconds to read a clock, to launch work, and to ask whether it is done. If these were
# free, a loop that waits until some time has passed would never end.
READ_SECONDS, LAUNCH_SECONDS, QUERY_SECONDS = 1e-6, 5e-6, 2e-5


class Queue:
    """A device that processes its work in order, and the clock of the program that launches it."""

    def __init__(self):
        self.seconds = self.idle_from = 0.0

    def compute(self, seconds):
        self.seconds += seconds

    def launch(self, seconds):
        self.seconds += LAUNCH_SECONDS
        self.idle_from = max(self.idle_from, self.seconds) + seconds

    def read(self):
        self.seconds += READ_SECONDS
        return self.seconds


class Event:
    """Replacement for `torch.cuda.Event`: a position in the queue and the time it is reached."""

    def __init__(self, queue):
        self.queue, self.reached = queue, 0.0

    def record(self, stream=None):
        self.reached = max(self.queue.idle_from, self.queue.seconds)
        return self

    def query(self):
        self.queue.seconds += QUERY_SECONDS
        return self.queue.seconds >= self.reached

    def synchronize(self):
        self.queue.seconds = max(self.queue.seconds, self.reached)

    def elapsed_time(self, end_event):
        if max(self.reached, end_event.reached) > self.queue.seconds:
            raise RuntimeError("Both events must be completed before calculating elapsed time")
        return 1000 * (end_event.reached - self.reached)


@contextmanager
def simulated(queue, function):
    """Make clocks, `sleep`, events and synchronization in this thread those of the queue.

    What the module of `function` imported from `time`, `timeit` and `datetime` is replaced too, and
    clocks that are default arguments there. Without a GPU, synchronization raises an error.
    """
    thread = threading.get_ident()

    def replace(real, new):
        # The threads of the notebook's kernel still need the real time.
        return lambda *args: (new if threading.get_ident() == thread else real)(*args)

    def synchronize(*args):
        if not torch.cuda.is_available():
            raise RuntimeError("this machine has no GPU to wait for")
        queue.seconds = max(queue.seconds, queue.idle_from)

    now = classmethod(lambda cls, tz=None: cls.fromtimestamp(time.time(), tz))
    new = {id(datetime.datetime): type("datetime", (datetime.datetime,), {"now": now})}
    new[id(time.sleep)] = replace(time.sleep, queue.compute)
    for clock in (time.perf_counter, time.monotonic, time.time):
        new[id(clock)] = replace(clock, queue.read)
    for clock in (time.perf_counter_ns, time.monotonic_ns, time.time_ns):
        new[id(clock)] = replace(clock, lambda: round(1e9 * queue.read()))
    wait, event = {"synchronize": synchronize}, {"Event": lambda *args, **options: Event(queue)}
    patches = [(torch.cuda, wait | event), (torch.accelerator, wait), (torch, event)]
    patches.append((torch.cuda.Stream, wait))
    names = getattr(inspect.unwrap(function), "__globals__", {})
    functions = timeit.Timer.__init__, timeit.timeit, timeit.repeat, *names.values()
    for each in [f for f in functions if inspect.isfunction(f) and f.__defaults__]:
        defaults = tuple(new.get(id(value), value) for value in each.__defaults__)
        patches.append((each, {"__defaults__": defaults}))
    with ExitStack() as stack:
        for owner, values in patches:
            stack.enter_context(patch.multiple(owner, **values))
        for table in (vars(time), vars(timeit), vars(datetime), names):
            for name, real in [(name, x) for name, x in table.items() if id(x) in new]:
                stack.callback(table.__setitem__, name, real)
                table[name] = new[id(real)]
        yield
