"""The clock of the time limits, in forked processes and on systems without waiting times."""

import threading
import time

import pytest

from helpers.checks import thread_time


def test_a_forked_process_measures_its_own_thread(monkeypatch):
    # After a fork, the `Thread` object still has the id of the thread that forked.
    monkeypatch.setattr(threading.current_thread(), "_native_id", 1)
    monkeypatch.setattr(thread_time, "_fallback_clock", lambda: pytest.fail("no such thread"))
    before = thread_time.thread_seconds()
    time.sleep(0.1)
    assert thread_time.thread_seconds() - before > 0.05


def test_clock_without_waiting_times_counts_processor_time_and_a_part_of_wall_time(monkeypatch):
    processor, wall = [5.0], [90_000.0]
    monkeypatch.setattr(thread_time, "process_time", lambda: processor[0])
    monkeypatch.setattr(thread_time, "monotonic", lambda: wall[0])
    clock = thread_time._FallbackClock()
    processor[0], wall[0] = 6.0, 90_001.0  # a loop
    assert clock() == pytest.approx(1.0)
    wall[0] += 6 * 2.0  # a call that sleeps
    assert clock() == pytest.approx(3.0)
