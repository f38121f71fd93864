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
        self.seconds = self.busy_seconds = self.idle_from = 0.0
        self.durations = []
        self.slept = self.was_queried = False

    def compute(self, seconds):
        self.seconds += seconds
        self.busy_seconds += seconds

    def sleep(self, seconds):
        self.slept = True
        self.seconds += seconds

    def launch(self, seconds):
        self.compute(LAUNCH_SECONDS)
        self.idle_from = max(self.idle_from, self.seconds) + seconds
        self.durations.append(seconds)

    def is_done(self, moment=None):
        self.was_queried = True
        self.compute(QUERY_SECONDS)
        return self.seconds >= (self.idle_from if moment is None else moment)

    def wait(self, *args):
        self.seconds = max(self.idle_from, self.seconds)

    def read(self, name):
        self.compute(READ_SECONDS)
        seconds = self.busy_seconds if name[:2] in ("pr", "th") else self.seconds
        return round(1e9 * seconds) if name.endswith("_ns") else seconds


class Event:
    """Replacement for `torch.cuda.Event`: a position in the queue and the time it is reached."""

    def __init__(self, queue):
        self.queue, self.reached = queue, 0.0

    def record(self, stream=None):
        self.reached = max(self.queue.idle_from, self.queue.seconds)
        return self

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

    What the module of `function` imported from `time`, `timeit` and `datetime` is replaced too, and
    the defaults of its functions. Without a GPU, synchronization raises an error.
    """
    thread, real_time = threading.get_ident(), datetime.datetime

    def replace(real, new):
        # The threads of the notebook's kernel still need the real time.
        return lambda *args: (new if threading.get_ident() == thread else real)(*args)

    def refuse(*args):
        raise RuntimeError("this machine has no GPU to wait for")

    class SimulatedTime(real_time):
        @staticmethod
        def now(tz=None):
            if threading.get_ident() != thread:
                return real_time.now(tz)
            return real_time.fromtimestamp(queue.read("time"), tz)

    clocks = ("perf_counter", "monotonic", "time", "process_time", "thread_time")
    new = {id(real_time): SimulatedTime, id(time.sleep): replace(time.sleep, queue.sleep)}
    for name in (name + suffix for name in clocks for suffix in ("", "_ns")):
        real = getattr(time, name)
        new[id(real)] = replace(real, lambda name=name: queue.read(name))
    names = getattr(inspect.unwrap(function), "__globals__", {})
    functions = [*filter(inspect.isfunction, [function, *names.values()])]
    functions += [timeit.Timer.__init__, timeit.timeit, timeit.repeat]
    tables = [vars(time), vars(timeit), vars(datetime), names]
    with ExitStack() as stack:
        for each in functions:
            tables.append(each.__kwdefaults__ or {})
            defaults = tuple(new.get(id(value), value) for value in each.__defaults__ or ())
            if {*map(id, defaults)} & {*map(id, new.values())}:
                stack.enter_context(patch.object(each, "__defaults__", defaults))
        for table in tables:
            for name in [name for name, value in table.items() if id(value) in new]:
                stack.callback(table.__setitem__, name, table[name])
                table[name] = new[id(table[name])]
        wait = queue.wait if has_gpu else refuse
        for owner, name, value in (
            *((owner, "synchronize", wait) for owner in (torch.cuda, torch.accelerator)),
            *((owner, "Event", lambda *args, **kw: Event(queue)) for owner in (torch.cuda, torch)),
            (torch.cuda.Stream, "synchronize", wait),
            (torch.cuda.Stream, "query", lambda stream: queue.is_done()),
            (torch.cuda.Stream, "record_event", lambda s, e=None: (e or Event(queue)).record()),
        ):
            stack.enter_context(patch.object(owner, name, value))
        yield
