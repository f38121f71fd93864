"""Take one move to the device out of a whole program: the boxes lead back to one that works."""

import re

import pytest
import torch

import simulated_cuda
from helpers.explain import explain
from tests.helpers.explain.programs import HEAD, PROGRAMS

MOVE = re.compile(r"\.to\((?:self\.)?device\)|, device=[\w.]+|\.cpu\(\)")
MUTANTS = [
    pytest.param(body[: move.start()] + body[move.end() :], id=f"{name}, {number}")
    for name, body in PROGRAMS.items()
    for number, move in enumerate(MOVE.finditer(body))
]
BOXES = 3  # a student who needs more than three would give up


@pytest.fixture(autouse=True, scope="module")
def a_gpu():
    if torch.cuda.is_available():
        yield
    else:
        with simulated_cuda.simulated():
            yield


@pytest.mark.parametrize("body", PROGRAMS.values(), ids=PROGRAMS)
def test_the_program_works_as_it_is(student, body):
    assert student.error_of(HEAD + body, {}) is None


@pytest.mark.parametrize("body", MUTANTS)
def test_without_one_move_it_is_led_back(student, body):
    text = HEAD + body
    error = student.error_of(text, {})
    assert error is not None, "the program does without this move"
    for _ in range(BOXES):
        explanation = explain(error)
        assert explanation is not None, f"no box for {error}"
        assert explanation.cure is not None, f"no cure in\n{explanation}"
        text = explanation.cure.applied_to(text)
        error = student.error_of(text, {})
        if error is None:
            break
    assert error is None
