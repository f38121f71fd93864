"""Answers to lab 01, exercise 4: `gpu_bytes`."""

import math

import torch

from helpers.checks import lab_01
from tests.helpers.checks.answers import Answers

answers = Answers(lab_01.exercise_4)


@answers.right
def with_a_meta_tensor(shape, dtype):
    size = torch.empty(shape, dtype=dtype, device="meta").nbytes
    return (size + 511) // 512 * 512


@answers.right
def by_multiplying(shape, dtype):
    return math.ceil(math.prod(shape) * dtype.itemsize / 512) * 512


@answers.right
def with_a_loop_and_a_small_tensor(shape, dtype):
    size = torch.zeros((), dtype=dtype).element_size()
    for length in shape:
        size *= length
    return size + (512 - size % 512 if size % 512 else 0)


@answers.wrong("not-rounded")
def does_not_round(shape, dtype):
    return math.prod(shape) * dtype.itemsize


@answers.wrong("wrong-blocks")
def always_adds_a_block(shape, dtype):
    return (math.prod(shape) * dtype.itemsize // 512 + 1) * 512


@answers.wrong("wrong-blocks")
def returns_at_least_one_block(shape, dtype):
    return max(512, by_multiplying(shape, dtype))


@answers.wrong("dtype-ignored")
def assumes_four_bytes(shape, dtype):
    return by_multiplying(shape, torch.float32)


@answers.wrong("too-much-memory")
def allocates_the_tensor(shape, dtype):
    return (torch.empty(shape, dtype=dtype).nbytes + 511) // 512 * 512


@answers.wrong("not-an-int")
def returns_a_float(shape, dtype):
    return math.prod(shape) * dtype.itemsize / 512 * 512


@answers.wrong("wrong-bytes")
def adds_the_lengths(shape, dtype):
    return math.ceil(sum(shape) * dtype.itemsize / 512) * 512


@answers.wrong("raised")
def fails_without_dimensions(shape, dtype):
    return math.ceil(shape[0] * math.prod(shape[1:]) * dtype.itemsize / 512) * 512


test_answers = answers.make_test()
