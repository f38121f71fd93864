"""A simulated clock for checking code that measures time, even on a busy machine."""

import datetime
import inspect
import threading
import time
import timeit
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FunctionType, MethodType
from typing import Any
from unittest.mock import patch

# Functions of the module `time`; each also has a variant that ends in `_ns`.
_WALL_CLOCKS = ("perf_counter", "monotonic", "time")
_PROCESSOR_CLOCKS = ("process_time", "thread_time")
# Simulated seconds per clock read. If reads were free, a loop that polls the clock would never end.
_SECONDS_PER_READ = 1e-6


class Clock:
    """A simulated clock. It advances in `compute`, `sleep` and `wait_until`, and on each read.

    Attributes:
        seconds: total simulated time.
        busy_seconds: time during which the processor was busy.
        slept: whether `sleep` was called.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.busy_seconds = 0.0
        self.slept = False

    def compute(self, seconds: float) -> None:
        """Advance the clock while the processor is busy."""
        self.seconds += seconds
        self.busy_seconds += seconds

    def wait_until(self, moment: float) -> None:
        """Advance the clock to `moment` with an idle processor, unless that time has passed."""
        self.seconds = max(self.seconds, moment)

    def sleep(self, seconds: float) -> None:
        """Advance the clock while the processor is idle, like `time.sleep`.

        Raises:
            ValueError: `seconds` is negative.
        """
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        self.slept = True
        self.seconds += seconds


@contextmanager
def simulated_clock(clock: Clock, function: Callable[..., Any]) -> Iterator[None]:
    """Patch `time`, `timeit` and `datetime` to read `clock` in the current thread.

    This also patches names that the module of `function` imported from them, and the default
    arguments and closures of the functions in that module. Other threads, such as the threads of
    the notebook's kernel, still read the real time.
    """
    thread = threading.get_ident()
    running = True

    def is_simulated() -> bool:
        return running and threading.get_ident() == thread

    replacements = _simulated_functions(clock, is_simulated)
    with ExitStack() as stack:
        for module in (time, timeit, datetime):
            _replace_names(vars(module), replacements, stack)
        names, functions = _module_of(function)
        _replace_names(names, replacements, stack)
        for target in (*functions, timeit.Timer.__init__, timeit.timeit, timeit.repeat):
            _replace_in_function(target, replacements, stack)
        try:
            yield
        finally:
            running = False


def _simulated_functions(
    clock: Clock, is_simulated: Callable[[], bool]
) -> dict[int, tuple[Any, Any]]:
    """Return pairs `(real, simulated)` of functions, keyed by the `id` of the real function."""

    def make_clock_function(name: str) -> Callable[[], float]:
        real = getattr(time, name)
        start = real()
        is_processor_time = name.removesuffix("_ns") in _PROCESSOR_CLOCKS

        def read() -> float:
            if not is_simulated():
                return real()
            clock.compute(_SECONDS_PER_READ)
            seconds = clock.busy_seconds if is_processor_time else clock.seconds
            return start + (round(1e9 * seconds) if name.endswith("_ns") else seconds)

        return read

    def sleep(seconds: float) -> None:
        (clock.sleep if is_simulated() else real_sleep)(seconds)

    real_sleep, real_datetime = time.sleep, datetime.datetime
    now = make_clock_function("time")

    class SimulatedDatetime(real_datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            """Return the simulated time."""
            return real_datetime.fromtimestamp(now(), tz)

    names = [
        n + suffix
        for n in (*_WALL_CLOCKS, *_PROCESSOR_CLOCKS)
        for suffix in ("", "_ns")
        if hasattr(time, n)
    ]
    pairs = [(getattr(time, name), make_clock_function(name)) for name in names]
    pairs += [(real_sleep, sleep), (real_datetime, SimulatedDatetime)]
    return {id(real): (real, simulated) for real, simulated in pairs}


def _module_of(function: Callable[..., Any]) -> tuple[dict[str, Any], list[FunctionType]]:
    """Return the globals of `function`, and the functions defined in its module."""
    function = inspect.unwrap(function)
    if not isinstance(function, FunctionType | MethodType):
        function = vars(type(function)).get("__call__")
    function = getattr(function, "__func__", function)
    if not isinstance(function, FunctionType):
        return {}, []
    names = function.__globals__
    functions = {id(f): f for f in (function, *names.values()) if isinstance(f, FunctionType)}
    return names, [f for f in functions.values() if f.__globals__ is names]


def _replace_names(
    names: dict[str, Any], replacements: dict[int, tuple[Any, Any]], stack: ExitStack
) -> None:
    for name, value in list(names.items()):
        if id(value) in replacements:
            names[name] = replacements[id(value)][1]
            stack.callback(names.__setitem__, name, value)


def _replace_in_function(
    function: FunctionType, replacements: dict[int, tuple[Any, Any]], stack: ExitStack
) -> None:
    defaults = function.__defaults__ or ()
    if any(id(value) in replacements for value in defaults):
        new_defaults = tuple(replacements.get(id(value), (value, value))[1] for value in defaults)
        stack.enter_context(patch.object(function, "__defaults__", new_defaults))
    if function.__kwdefaults__:
        _replace_names(function.__kwdefaults__, replacements, stack)
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # an unassigned variable
            continue
        if id(value) in replacements:
            cell.cell_contents = replacements[id(value)][1]
            stack.callback(setattr, cell, "cell_contents", value)
