"""Answers to lab 01, exercise 2: `try_gpu` and `try_all_gpus`."""

import torch

from helpers.checks import lab_01
from tests.helpers.checks.answers import Answers


def try_gpu(i=0):
    return torch.device(f"cuda:{i}" if i < torch.cuda.device_count() else "cpu")


def try_all_gpus():
    gpus = [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
    return gpus or [torch.device("cpu")]


def both(answer):
    """Return an answer to the first function or, by its name, to the second with the other."""
    return (try_gpu, answer) if answer.__name__.startswith("all_") else (answer, try_all_gpus)


answers = Answers(lab_01.exercise_2, arguments=both)


@answers.right
def by_catching_the_error(i=0):
    try:
        return torch.zeros(1, device=f"cuda:{i}").device
    except (RuntimeError, AssertionError):
        return torch.device("cpu")


@answers.right
def all_with_the_accelerator_api():
    if not torch.accelerator.is_available():
        return [torch.device("cpu")]
    return [torch.device(f"cuda:{i}") for i in range(torch.accelerator.device_count())]


@answers.wrong("no-fallback")
def never_falls_back(i=0):
    return torch.device("cuda", i)


@answers.wrong("wrong-gpu")
def always_returns_the_first_gpu(i=0):
    return torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")


@answers.wrong("wrong-gpu")
def uses_another_default(i=1):
    return try_gpu(i)


@answers.wrong("wrong-arguments")
def has_no_default(i):
    return try_gpu(i)


@answers.wrong("not-a-device")
def returns_a_string(i=0):
    return f"cuda:{i}" if torch.cuda.device_count() > i else "cpu"


@answers.wrong("wrong-list")
def all_but_no_cpu():
    return [torch.device("cuda", i) for i in range(torch.cuda.device_count())]


@answers.wrong("wrong-list")
def all_and_the_cpu():
    return [*map(try_gpu, range(torch.cuda.device_count())), torch.device("cpu")]


@answers.wrong("not-a-list")
def all_in_a_tuple():
    return tuple(try_all_gpus())


test_answers = answers.make_test()
