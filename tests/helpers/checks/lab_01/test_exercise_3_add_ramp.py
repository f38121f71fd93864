"""Answers to lab 01, exercise 3: `add_ramp`."""

import torch

from helpers.checks import lab_01
from tests.helpers.checks.answers import Answers

answers = Answers(lab_01.exercise_3)


@answers.right
def creates_arange_on_the_device(X):
    return X + torch.arange(X.shape[1], dtype=X.dtype, device=X.device)


@answers.right
def with_a_device_context(X):
    with torch.device(X.device):
        return X + torch.arange(X.size(-1))


@answers.right
def column_by_column(X):
    result = X.clone()
    for column in range(X.shape[1]):
        result[:, column] += column
    return result


@answers.wrong("device-error")
def hard_codes_the_first_gpu(X):
    return X + torch.arange(X.shape[1], device="cuda:0")


@answers.wrong("copied")
def creates_on_the_cpu_and_moves(X):
    return X + torch.arange(X.shape[1]).to(X.device)


@answers.wrong("copied")
def copies_a_list(X):
    return X + X.new_tensor([*range(X.shape[1])])


@answers.wrong("result-elsewhere")
def returns_the_sum_on_the_cpu(X):
    return X.cpu() + torch.arange(X.shape[1])


@answers.wrong("wrong-ramp")
def starts_with_one(X):
    return X + torch.arange(1, X.shape[1] + 1, device=X.device)


@answers.wrong("wrong-shape")
def transposes_the_input(X):
    return X.t() + torch.arange(X.shape[0], device=X.device)


@answers.wrong("input-changed")
def adds_in_place(X):
    X += torch.arange(X.shape[1], dtype=X.dtype, device=X.device)
    return X


@answers.wrong("dtype-changed")
def creates_a_float32_ramp(X):
    return X + torch.arange(X.shape[1], dtype=torch.float32, device=X.device)


@answers.wrong("not-a-tensor")
def returns_a_list_of_rows(X):
    return [row + torch.arange(X.shape[1], device=X.device) for row in X]


test_answers = answers.make_test()
