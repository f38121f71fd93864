"""The simulated queue replaces clocks and synchronization for one thread."""

import threading
import time
import timeit
from datetime import datetime
from time import monotonic

import pytest
import torch

import simulated_cuda
from helpers.checks.lab_05.simulated_queue import Queue, simulated

REAL = time.perf_counter


def read(clock=monotonic):
    return clock()


def poll():
    event = torch.cuda.Event()
    event.record()
    while not event.query():
        time.sleep(0.001)


@pytest.mark.parametrize(
    "wait",
    [
        lambda: torch.cuda.synchronize("cuda:0"),
        lambda: torch.accelerator.synchronize(),
        lambda: torch.cuda.current_stream().synchronize(),
        poll,
    ],
)
def test_synchronization_waits_until_the_work_is_done(wait):
    queue = Queue()
    with simulated_cuda.simulated(devices=1), simulated(queue, read):
        queue.launch(50)
        assert queue.seconds < 1
        wait()
    assert queue.seconds == pytest.approx(50, abs=0.01)


def test_every_clock_shows_the_simulated_time():
    queue = Queue()
    with simulated(queue, read):
        assert timeit.timeit(lambda: time.sleep(1000), number=1) == pytest.approx(1000, abs=0.01)
        for clock in (read, time.time, timeit.default_timer, lambda: time.perf_counter_ns() / 1e9):
            assert clock() == pytest.approx(1000, abs=0.01)
        assert datetime.now().timestamp() == pytest.approx(1000, abs=0.01)
    assert time.perf_counter is REAL


def test_other_threads_see_the_real_time():
    times = []
    with simulated(Queue(), read):
        thread = threading.Thread(target=lambda: times.append(time.time()))
        thread.start()
        thread.join()
    assert abs(time.time() - times[0]) < 1000
