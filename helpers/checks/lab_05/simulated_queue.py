"""A simulated device and clock: times do not depend on how busy the machine is."""

import datetime
import inspect
import threading
import time
import timeit
from contextlib import ExitStack, contextmanager
from functools import partial
from unittest.mock import patch

import torch

# Simulated seconds to read a clock, to launch work, and to ask whether it is done. If these were
# free, a loop that waits until some time has passed would never end.
READ_SECONDS, LAUNCH_SECONDS, QUERY_SECONDS = 1e-6, 5e-6, 2e-5


class Queue:
    """A device that processes its work in order, and the clock of the program that launches it."""

    def __init__(self):
        self.seconds = self.busy_seconds = self.idle_from = 0.0
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
        self.queue.was_queried = True
        self.queue.compute(QUERY_SECONDS)
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
    the defaults of its functions. Without a GPU, synchronization raises an error.
    """
    thread = threading.get_ident()

    def replace(real, new):
        # The threads of the notebook's kernel still need the real time.
        return lambda *args: (new if threading.get_ident() == thread else real)(*args)

    def synchronize(*args):
        if not torch.cuda.is_available():
            raise RuntimeError("this machine has no GPU to wait for")
        Event(queue).record().synchronize()

    day = datetime.datetime
    now = replace(day.now, lambda tz=None: day.fromtimestamp(queue.read("time"), tz))
    new = {id(day): type("datetime", (day,), {"now": lambda tz=None: now(tz)})}
    new[id(time.sleep)] = replace(time.sleep, queue.sleep)
    for clock in ("perf_counter", "monotonic", "time", "process_time", "thread_time"):
        for name in (clock, clock + "_ns"):
            real = getattr(time, name)
            new[id(real)] = replace(real, partial(queue.read, name))
    names = getattr(inspect.unwrap(function), "__globals__", {})
    functions = [*filter(inspect.isfunction, [function, *names.values()])]
    functions += [timeit.Timer.__init__, timeit.timeit, timeit.repeat]
    tables = [vars(time), vars(timeit), vars(datetime), names]
    tables += [each.__kwdefaults__ or {} for each in functions]
    wait, event = {"synchronize": synchronize}, {"Event": lambda *args, **options: Event(queue)}
    stream = {"query": lambda stream: Event(queue).record().query()}
    stream["record_event"] = lambda stream, event=None: (event or Event(queue)).record()
    patches = [(torch.cuda, wait | event), (torch.accelerator, wait), (torch, event)]
    patches.append((torch.cuda.Stream, wait | stream))
    for each in functions:
        defaults = tuple(new.get(id(value), value) for value in each.__defaults__ or ())
        patches.append((each, {"__defaults__": defaults or None}))
    with ExitStack() as stack:
        for owner, values in patches:
            stack.enter_context(patch.multiple(owner, **values))
        for table in tables:
            for name in [name for name, value in table.items() if id(value) in new]:
                stack.callback(table.__setitem__, name, table[name])
                table[name] = new[id(table[name])]
        yield
