"""The simulated clock replaces Python's clocks for one thread and one function's module."""

import datetime
import threading
import time
import timeit
from time import perf_counter, sleep

import pytest

from helpers.checks.clocks import Clock, simulated_clock

REAL = (time.perf_counter, time.sleep, datetime.datetime, timeit.default_timer)


def read_imported_clock():
    return perf_counter()


def read_default_argument(clock=time.monotonic):
    return clock()


def read_keyword_argument(*, clock=time.time):
    return clock()


class Stopwatch:
    def __call__(self):
        return perf_counter()


@pytest.mark.parametrize(
    "read",
    [
        lambda: time.perf_counter(),
        lambda: time.perf_counter_ns() / 1e9,
        lambda: time.time(),
        lambda: time.monotonic(),
        lambda: timeit.default_timer(),
        lambda: datetime.datetime.now().timestamp(),
        lambda: time.process_time(),
        read_imported_clock,
        read_default_argument,
        read_keyword_argument,
        Stopwatch(),
    ],
)
def test_every_clock_shows_the_simulated_time(read):
    clock = Clock()
    with simulated_clock(clock, read):
        start = read()
        clock.compute(1000)
        assert read() - start == pytest.approx(1000, abs=0.01)


def test_timeit_measures_simulated_time():
    clock = Clock()
    with simulated_clock(clock, read_imported_clock):
        seconds = timeit.timeit(lambda: clock.compute(1000), number=3)
    assert seconds == pytest.approx(3000, abs=0.01)


def test_sleep_advances_simulated_time_only():
    clock = Clock()
    with simulated_clock(clock, read_imported_clock):
        time.sleep(10_000)
        sleep(20_000)
        with pytest.raises(ValueError, match="non-negative"):
            time.sleep(-1)
    assert clock.seconds == 30_000
    assert clock.busy_seconds == 0
    assert clock.slept


def test_loop_that_polls_the_clock_ends():
    with simulated_clock(Clock(), read_imported_clock):
        end = time.perf_counter() + 0.01
        while time.perf_counter() < end:
            pass


def test_other_threads_see_the_real_time():
    clock, times = Clock(), []
    with simulated_clock(clock, read_imported_clock):
        clock.compute(1e6)
        thread = threading.Thread(target=lambda: times.append(time.perf_counter()))
        thread.start()
        thread.join()
    assert abs(REAL[0]() - times[0]) < 1e5


def test_clocks_are_restored_and_saved_reference_shows_real_time():
    clock = Clock()
    with simulated_clock(clock, read_default_argument):
        saved_clock = time.perf_counter
        clock.compute(1e6)
        assert perf_counter is saved_clock
    assert (time.perf_counter, time.sleep, datetime.datetime, timeit.default_timer) == REAL
    assert perf_counter is REAL[0]
    assert read_default_argument.__defaults__ == (time.monotonic,)
    assert abs(saved_clock() - REAL[0]()) < 1e5
