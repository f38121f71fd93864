"""The simulated queue replaces clocks and synchronization for one thread."""

import datetime
import threading
import time
import timeit

import pytest
import torch

import simulated_cuda
from helpers.checks.lab_05.simulated_queue import Queue, simulated

REAL = (time.perf_counter, datetime.datetime)


def read(clock=time.monotonic, *, other=time.time_ns):
    return clock() + other() / 1e9


@pytest.mark.parametrize(
    "wait",
    [
        lambda: torch.cuda.synchronize("cuda:0"),
        lambda: torch.accelerator.synchronize(),
        lambda: torch.cuda.current_stream().synchronize(),
        lambda: torch.cuda.current_stream().record_event().synchronize(),
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
        seconds = timeit.timeit(lambda: time.sleep(1000), number=1)
        assert read() == pytest.approx(2000, abs=0.01)
        assert datetime.datetime.now().timestamp() == pytest.approx(1000, abs=0.01)
        assert time.process_time() < 1
    assert seconds == pytest.approx(1000, abs=0.01)
    assert (time.perf_counter, datetime.datetime) == REAL
    assert read.__defaults__ == (time.monotonic,)


def test_other_threads_see_the_real_time():
    times = []
    with simulated(Queue(), read):
        thread = threading.Thread(target=lambda: times.append(time.time()))
        thread.start()
        thread.join()
    assert abs(time.time() - times[0]) < 1000
