"""Answers to lab 05, exercise 2: `seconds_per_part`."""

import time

import torch

from helpers.checks import lab_05
from tests.helpers.checks.answers import Answers

answers = Answers(lab_05.exercise_2)


def wait():
    torch.accelerator.synchronize()


def measure(parts, steps, *, after=wait, warm_up=1, counted=1, divide=3):
    total = dict.fromkeys(parts, 0.0)
    for step in range(warm_up + steps):
        for name, part in parts.items():
            start = time.perf_counter()
            part()
            after()
            total[name] += (time.perf_counter() - start) * (step >= counted)
    return {name: seconds / divide for name, seconds in total.items()}


@answers.right
def waits_at_the_end_of_each_part(parts, device, steps):
    return measure(parts, steps)


@answers.right
def with_events(parts, device, steps):
    total = dict.fromkeys(parts, 0.0)
    for step in range(steps + 1):
        for name, part in parts.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            part()
            end.record()
            end.synchronize()
            total[name] += start.elapsed_time(end) / 1000 / steps if step else 0
    return total


@answers.wrong("not-the-parts")
def returns_a_list(parts, device, steps):
    return list(waits_at_the_end_of_each_part(parts, device, steps).values())


@answers.wrong("wrong-order")
def measures_one_part_after_the_other(parts, device, steps):
    return {name: measure({name: part}, steps)[name] for name, part in parts.items()}


@answers.wrong("steps-miscounted")
def runs_two_warm_up_steps(parts, device, steps):
    return measure(parts, steps, warm_up=2)


@answers.wrong("counted-in-another-part")
def never_waits(parts, device, steps):
    return measure(parts, steps, after=lambda: None)


@answers.wrong("wrong-mean")
def counts_the_first_step(parts, device, steps):
    return measure(parts, steps, counted=0, divide=4)


test_answers = answers.make_test()
