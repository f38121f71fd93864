"""If one move is missing from a complete program, the fixes in at most three boxes repair it."""

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
MAX_BOXES = 3  # a student may give up after more boxes


@pytest.fixture(autouse=True, scope="module")
def gpu():
    if torch.cuda.is_available():
        yield
    else:
        with simulated_cuda.simulated():
            yield


@pytest.mark.parametrize("body", PROGRAMS.values(), ids=PROGRAMS)
def test_complete_program_runs(student, body):
    assert student.error_of(HEAD + body, {}) is None


@pytest.mark.parametrize("body", MUTANTS)
def test_a_missing_move_is_fixed_in_at_most_three_steps(student, body):
    text = HEAD + body
    error = student.error_of(text, {})
    assert error is not None, "the program does not need this move"
    for _ in range(MAX_BOXES):
        explanation = explain(error)
        assert explanation is not None, f"no box for {error}"
        assert explanation.fix is not None, f"no fix in\n{explanation}"
        text = explanation.fix.text
        error = student.error_of(text, {})
        if error is None:
            break
    assert error is None
