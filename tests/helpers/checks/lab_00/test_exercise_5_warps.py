"""Answers to lab 00, exercise 5: `warps_needed`."""

import math
from itertools import count

import pytest

from helpers.checks import lab_00
from helpers.checks.collecting import Case
from helpers.checks.lab_00 import exercise_5_warps
from tests.helpers.checks.answers import Answers

answers = Answers(lab_00.exercise_5)


def is_busy(warps, latency, others):
    """Return whether the control unit starts an instruction in each of many later cycles."""
    ready, left, running = [0] * warps, [others] * warps, 0
    for cycle in range(40 * (latency + others)):
        if ready[running] > cycle:
            running = min(range(warps), key=lambda warp: ready[warp])
        if ready[running] > cycle:
            if cycle > 20 * (latency + others):
                return False
            continue
        wait = 1 if left[running] else latency
        left[running] = left[running] - 1 if left[running] else others
        ready[running] = cycle + wait
    return True


@pytest.mark.parametrize(("latency", "others"), [(24, 3), (5, 3), (6, 3), (30, 0), (2, 5), (1, 4)])
def test_fewest_warps_of_a_simulation_are_right(latency, others):
    fewest = next(warps for warps in count(1) if is_busy(warps, latency, others))
    assert exercise_5_warps.right(Case(latency=latency, others=others)) == fewest


@answers.right
def rounds_up(latency, others):
    return math.ceil((latency + others) / (1 + others))


@answers.right
def counts_up(latency, others):
    return next(n for n in count(1) if n * (1 + others) >= latency + others)


@answers.right
def divides_what_is_left_to_hide(latency, others):
    return 1 + (latency - 1 + others) // (others + 1)


@answers.wrong("one-too-few")
def rounds_down(latency, others):
    return (latency + others) // (1 + others)


@answers.wrong("one-too-few")
def rounds_to_the_nearest(latency, others):
    return round((latency + others) / (1 + others))


@answers.wrong("wrong-warps")
def always_adds_one(latency, others):
    return (latency + others) // (1 + others) + 1


@answers.wrong("not-an-int")
def returns_a_float(latency, others):
    return float(counts_up(latency, others))


@answers.wrong("not-an-int")
def does_not_round(latency, others):
    return (latency + others) / (1 + others)


test_answers = answers.make_test()
