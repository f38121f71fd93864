"""A clock of simulated seconds, to check code that measures time even if the machine is busy."""

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

_ELAPSED = ("perf_counter", "monotonic", "time")
_PROCESSOR = ("process_time", "thread_time")
# Simulated cost of reading the clock, in seconds, so that a loop that polls the clock ends.
_READING = 1e-6


class Clock:
    """A clock that advances only in `compute`, `sleep` and `wait_until`, and when it is read.

    `seconds` is the total time, `computed` the time in which the processor was busy, and `slept`
    whether `sleep` was called.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.computed = 0.0
        self.slept = False

    def compute(self, seconds: float) -> None:
        """Advance the clock while the processor is busy."""
        self.seconds += seconds
        self.computed += seconds

    def wait_until(self, moment: float) -> None:
        """Leave the processor idle until `seconds` is at least `moment`."""
        self.seconds = max(self.seconds, moment)

    def sleep(self, seconds: float) -> None:
        """Leave the processor idle, as `time.sleep` does.

        Raises:
            ValueError: `seconds` is negative.
        """
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        self.slept = True
        self.seconds += seconds


@contextmanager
def simulated_clock(clock: Clock, function: Callable[..., Any]) -> Iterator[None]:
    """Make Python's `time`, `timeit` and `datetime` return the time of `clock` in this thread.

    That includes the names that the module of `function` has imported from them, and the default
    arguments and closures of its functions. Other threads, such as those of the notebook's kernel,
    still see the real time.
    """
    thread = threading.get_ident()
    running = True

    def is_simulated() -> bool:
        return running and threading.get_ident() == thread

    replaced = _simulated_functions(clock, is_simulated)
    with ExitStack() as stack:
        for module in (time, timeit, datetime):
            _replace_names(vars(module), replaced, stack)
        names, functions = _module_of(function)
        _replace_names(names, replaced, stack)
        for each in (*functions, timeit.Timer.__init__, timeit.timeit, timeit.repeat):
            _replace_in_function(each, replaced, stack)
        try:
            yield
        finally:
            running = False


def _simulated_functions(
    clock: Clock, is_simulated: Callable[[], bool]
) -> dict[int, tuple[Any, Any]]:
    """Return the real functions and their replacements, by the `id` of the real one."""

    def reading(name: str) -> Callable[[], float]:
        real = getattr(time, name)
        start = real()
        computed = name.removesuffix("_ns") in _PROCESSOR

        def read() -> float:
            if not is_simulated():
                return real()
            clock.compute(_READING)
            seconds = clock.computed if computed else clock.seconds
            return start + (round(1e9 * seconds) if name.endswith("_ns") else seconds)

        return read

    def sleep(seconds: float) -> None:
        (clock.sleep if is_simulated() else real_sleep)(seconds)

    real_sleep, real_datetime = time.sleep, datetime.datetime
    now = reading("time")

    class SimulatedDatetime(real_datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            """Return the simulated time."""
            return real_datetime.fromtimestamp(now(), tz)

    names = [n + end for n in (*_ELAPSED, *_PROCESSOR) for end in ("", "_ns") if hasattr(time, n)]
    pairs = [(getattr(time, name), reading(name)) for name in names]
    pairs += [(real_sleep, sleep), (real_datetime, SimulatedDatetime)]
    return {id(real): (real, simulated) for real, simulated in pairs}


def _module_of(function: Callable[..., Any]) -> tuple[dict[str, Any], list[FunctionType]]:
    """Return the global names that `function` sees, and the functions of its module."""
    function = inspect.unwrap(function)
    if not isinstance(function, FunctionType | MethodType):
        function = vars(type(function)).get("__call__")
    function = getattr(function, "__func__", function)
    if not isinstance(function, FunctionType):
        return {}, []
    names = function.__globals__
    found = {id(f): f for f in (function, *names.values()) if isinstance(f, FunctionType)}
    return names, [f for f in found.values() if f.__globals__ is names]


def _replace_names(
    names: dict[str, Any], replaced: dict[int, tuple[Any, Any]], stack: ExitStack
) -> None:
    for name, value in list(names.items()):
        if id(value) in replaced:
            names[name] = replaced[id(value)][1]
            stack.callback(names.__setitem__, name, value)


def _replace_in_function(
    function: FunctionType, replaced: dict[int, tuple[Any, Any]], stack: ExitStack
) -> None:
    defaults = function.__defaults__ or ()
    if any(id(value) in replaced for value in defaults):
        new = tuple(replaced.get(id(value), (value, value))[1] for value in defaults)
        stack.enter_context(patch.object(function, "__defaults__", new))
    if function.__kwdefaults__:
        _replace_names(function.__kwdefaults__, replaced, stack)
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # an unassigned variable
            continue
        if id(value) in replaced:
            cell.cell_contents = replaced[id(value)][1]
            stack.callback(setattr, cell, "cell_contents", value)
