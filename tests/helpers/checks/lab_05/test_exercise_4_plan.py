"""Answers to lab 05, exercise 4: `plan`."""

import math

from helpers.checks import lab_05
from tests.helpers.checks.answers import Answers

answers = Answers(lab_05.exercise_4)


@answers.right
def by_rounding_up(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    return math.ceil(images / batch), min(limit, base_rate * batch / base_batch)


@answers.right
def by_quotient_and_remainder(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    steps, rest = divmod(images, batch)
    return steps + bool(rest), min(base_rate / base_batch * batch, limit)


@answers.wrong("wrong-steps")
def rounds_down(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    return images // batch, min(base_rate * batch / base_batch, limit)


@answers.wrong("wrong-steps")
def always_adds_a_step(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    return images // batch + 1, min(base_rate * batch / base_batch, limit)


@answers.wrong("not-a-pair")
def returns_only_the_rate(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    return min(base_rate * batch / base_batch, limit)


@answers.wrong("wrong-rate")
def without_the_limit(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    return math.ceil(images / batch), base_rate * batch / base_batch


@answers.wrong("wrong-rate")
def hard_codes_the_defaults(images, batch, base_batch=4, base_rate=0.001, limit=0.1):
    return math.ceil(images / batch), min(0.001 * batch / 4, 0.1)


test_answers = answers.make_test()
