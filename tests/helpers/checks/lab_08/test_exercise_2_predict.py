"""Answers to lab 08, exercise 2: `predict`."""

import torch
from torch.nn import functional as F

from helpers.checks import lab_08
from tests.helpers.checks.answers import Answers

answers = Answers(lab_08.exercise_2)


@answers.right
def as_a_dictionary():
    return {
        "x @ w": torch.float16,
        "x + w": torch.float32,
        "F.linear(h, w)": torch.float16,
        "h.relu()": torch.float16,
        "h + x": torch.float32,
        "torch.cat([h, x])": torch.float32,
        "h.softmax(1)": torch.float32,
        "h.softmax(1) @ w": torch.float16,
        "h.sum()": torch.float32,
        "F.cross_entropy(h, t)": torch.float32,
    }


@answers.right
def by_running_the_operations():
    names = {"x": torch.ones(4, 4, device="cuda"), "w": torch.ones(4, 4, device="cuda")}
    names |= {"t": torch.zeros(4, dtype=torch.int64, device="cuda"), "F": F, "torch": torch}
    with torch.autocast("cuda", dtype=torch.float16):
        names["h"] = names["x"] @ names["w"]
        return {name: eval(name, names).dtype for name in as_a_dictionary()}


@answers.wrong("wrong-product")
def predicts_the_product_of_a_softmax_in_32_bits():
    return {**as_a_dictionary(), "h.softmax(1) @ w": torch.float32}


@answers.wrong("wrong-input-dtype")
def predicts_a_sum_of_weights_in_16_bits():
    return {**as_a_dictionary(), "x + w": torch.float16}


@answers.wrong("wrong-widest-dtype")
def predicts_cat_in_16_bits():
    return {**as_a_dictionary(), "torch.cat([h, x])": torch.float16}


@answers.wrong("wrong-sensitive-operation")
def predicts_the_sum_in_16_bits():
    return {**as_a_dictionary(), "h.sum()": torch.float16}


@answers.wrong("not-the-dictionary")
def returns_names_of_dtypes():
    return {name: str(dtype) for name, dtype in as_a_dictionary().items()}


test_answers = answers.make_test()
