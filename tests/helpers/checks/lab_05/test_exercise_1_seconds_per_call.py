"""Answers to lab 05, exercise 1: `seconds_per_call`."""

import statistics
import time
import timeit

import torch

from helpers.checks import lab_05
from tests.helpers.checks.answers import Answers

answers = Answers(lab_05.exercise_1)


def wait(device):
    if device.type != "cpu":
        torch.accelerator.synchronize(device)


def times(call, device, runs, *, warm=1, before=wait, after=wait):
    for _ in range(warm):
        call()
    seconds = []
    for _ in range(runs):
        before(device)
        start = time.perf_counter()
        call()
        after(device)
        seconds.append(time.perf_counter() - start)
    return seconds


@answers.right
def with_the_median(call, device, runs):
    return statistics.median(times(call, device, runs))


@answers.right
def with_timeit(call, device, runs):
    seconds = timeit.repeat(lambda: (call(), wait(device)), number=1, repeat=1 + runs)
    return sorted(seconds[1:])[runs // 2]


@answers.right
def with_cuda_events(call, device, runs):
    if device.type == "cpu":
        return with_the_median(call, device, runs)
    seconds = []
    for _ in range(runs + 1):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        seconds.append(start.elapsed_time(end) / 1000)
    return statistics.median(seconds[1:])


WRONG = {
    "not-a-number": {"returns_all_times": lambda *args: times(*args)},
    "runs-ignored": {"times_nine": lambda call, device, runs: max(times(call, device, 9))},
    "not-waited": {"does_not_wait": lambda *args: max(times(*args, after=lambda device: None))},
    "no-warm-up": {"does_not_warm_up": lambda *args: max(times(*args, warm=0))},
    "not-the-median": {
        "takes_the_mean": lambda *args: statistics.mean(times(*args)),
        "takes_the_middle": lambda *args: times(*args)[args[2] // 2],
    },
    "wrong-time": {
        "sleeps": lambda *args: max(times(*args, before=lambda device: time.sleep(0.4))),
        "returns_milliseconds": lambda *args: 1000 * max(times(*args)),
        "starts_too_early": lambda *args: max(times(*args, before=lambda device: None)),
    },
    "raised": {
        "needs_a_gpu": lambda *args: sorted(times(*args, after=torch.cuda.synchronize))[
            args[2] // 2
        ]
    },
}
for hint, functions in WRONG.items():
    for name, function in functions.items():
        function.__name__ = name
        answers.wrong(hint)(function)

test_answers = answers.make_test()
