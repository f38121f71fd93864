"""Answers to lab 08, exercise 2: `largest_scale`."""

import math

import torch

from helpers.checks import lab_08
from tests.helpers.checks.answers import Answers

answers = Answers(lab_08.exercise_2)


@answers.right
def halves_until_it_fits(gradients):
    scale = 2.0**24
    while not all((gradient * scale).half().isfinite().all() for gradient in gradients):
        scale /= 2
    return scale


@answers.right
def from_the_largest_size(gradients):
    largest = max(gradient.abs().max().item() for gradient in gradients)
    if largest == 0:
        return 2**24
    return min(2**24, 2 ** math.floor(math.log2(65504 / largest)))


@answers.wrong("overflows")
def forgets_negative_values(gradients):
    largest = max(gradient.max().item() for gradient in gradients)
    return 2**24 if largest <= 0 else min(2**24, 2 ** math.floor(math.log2(65504 / largest)))


@answers.wrong("too-small")
def uses_the_norm(gradients):
    return from_the_largest_size([gradient.norm() for gradient in gradients])


@answers.wrong("not-a-power")
def uses_the_whole_range(gradients):
    return 65504 / max(gradient.abs().max().item() for gradient in gradients)


@answers.wrong("above-limit")
def has_no_limit(gradients):
    largest = max(gradient.abs().max().item() for gradient in gradients)
    return 2.0 ** math.floor(math.log2(65504 / max(largest, 1e-30)))


@answers.wrong("not-a-number")
def returns_a_tensor(gradients):
    return torch.tensor(halves_until_it_fits(gradients))


@answers.wrong("input-changed")
def scales_in_place(gradients):
    scale = halves_until_it_fits(gradients)
    for gradient in gradients:
        gradient *= 2
    return scale


test_answers = answers.make_test()
