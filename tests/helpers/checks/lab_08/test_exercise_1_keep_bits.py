"""Answers to lab 08, exercise 1: `keep_bits`."""

import torch

from helpers.checks import lab_08
from tests.helpers.checks.answers import Answers

answers = Answers(lab_08.exercise_1)


@answers.right
def adds_and_shifts(x, mantissa):
    bits, dropped = x.view(torch.int32), 23 - mantissa
    half = (1 << (dropped - 1)) - 1 + ((bits >> dropped) & 1)
    return (((bits + half) >> dropped) << dropped).view(torch.float32)


@answers.right
def with_frexp(x, mantissa):
    digits, exponent = torch.frexp(x)
    size = 2 ** (mantissa + 1)
    return torch.ldexp(torch.round(digits * size) / size, exponent)


@answers.wrong("truncated")
def truncates_the_bits(x, mantissa):
    dropped = 23 - mantissa
    return ((x.view(torch.int32) >> dropped) << dropped).view(torch.float32)


@answers.wrong("wrong-tie")
def rounds_ties_away_from_zero(x, mantissa):
    dropped = 23 - mantissa
    bits = x.view(torch.int32) + (1 << (dropped - 1))
    return ((bits >> dropped) << dropped).view(torch.float32)


@answers.wrong("not-nearest")
def rounds_up_everything(x, mantissa):
    dropped = 23 - mantissa
    bits = x.view(torch.int32) + (1 << dropped) - 1
    return ((bits >> dropped) << dropped).view(torch.float32)


@answers.wrong("wrong-count")
def counts_the_bit_that_is_not_stored(x, mantissa):
    return with_frexp(x, mantissa - 1)


@answers.wrong("bits-left")
def forgets_to_shift_back(x, mantissa):
    return (x.view(torch.int32) >> (23 - mantissa)).view(torch.float32)


@answers.wrong("bits-left")
def converts_to_bfloat16(x, mantissa):
    return x.to(torch.bfloat16).float()


@answers.wrong("dtype-changed")
def forgets_to_view_as_float(x, mantissa):
    return adds_and_shifts(x, mantissa).view(torch.int32)


@answers.wrong("input-changed")
def writes_into_x(x, mantissa):
    return x.copy_(adds_and_shifts(x, mantissa))


@answers.wrong("result-elsewhere")
def computes_on_the_cpu(x, mantissa):
    return adds_and_shifts(x.cpu(), mantissa)


@answers.wrong("not-a-tensor")
def returns_a_list(x, mantissa):
    return adds_and_shifts(x, mantissa).tolist()


@answers.wrong("not-nearest")
def splits_with_a_product_that_overflows(x, mantissa):
    product = x * (2 ** (23 - mantissa) + 1)
    return product - (product - x)


test_answers = answers.make_test()
