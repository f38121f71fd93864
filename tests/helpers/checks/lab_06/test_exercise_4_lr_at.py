"""Answers to lab 06, exercise 4: `lr_at`."""

import torch

from helpers.checks import lab_06
from tests.helpers.checks.answers import Answers

answers = Answers(lab_06.exercise_4)


@answers.right
def two_lines(step, num_steps, peak_lr, warmup_steps):
    if step < warmup_steps:
        return peak_lr * step / warmup_steps
    return peak_lr * (num_steps - step) / (num_steps - warmup_steps)


@answers.right
def the_smaller_of_two(step, num_steps, peak_lr, warmup_steps):
    up = step / warmup_steps if warmup_steps else 1
    return peak_lr * min(up, (num_steps - step) / (num_steps - warmup_steps))


@answers.wrong("raised")
def divides_by_zero_warmup_steps(step, num_steps, peak_lr, warmup_steps):
    rising = peak_lr * step / warmup_steps
    return min(rising, two_lines(step, num_steps, peak_lr, warmup_steps))


@answers.wrong("wrong-warmup")
def starts_at_the_peak(step, num_steps, peak_lr, warmup_steps):
    return two_lines(max(step, warmup_steps), num_steps, peak_lr, warmup_steps)


@answers.wrong("wrong-decay")
def ignores_the_warmup_in_the_decay(step, num_steps, peak_lr, warmup_steps):
    if step < warmup_steps:
        return peak_lr * step / warmup_steps
    return peak_lr * (num_steps - step) / num_steps


@answers.wrong("not-a-rate")
def returns_a_tensor(step, num_steps, peak_lr, warmup_steps):
    return torch.tensor(two_lines(step, num_steps, peak_lr, warmup_steps))


test_answers = answers.make_test()
