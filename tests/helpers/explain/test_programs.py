"""If one move is missing from a complete program, the fixes in at most three boxes repair it."""

import re
from pathlib import Path

import pytest
import torch

import simulated_cuda
from helpers.explain import explain

# These programs run without an error: `simulated_cuda/tests/test_programs.py`.
FOLDER = Path(simulated_cuda.__file__).parent / "tests" / "programs"
PROGRAMS = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py")}
MUTANTS = [
    pytest.param(text[: move.start()] + text[move.end() :], id=f"{name}, {number}")
    for name, text in sorted(PROGRAMS.items())
    for number, move in enumerate(re.finditer(r"\.to\(device\)", text))
    if name != "recurrent"  # there is no fix for a packed sequence
]
MAX_BOXES = 3  # a student may give up after more boxes


@pytest.fixture(autouse=True, scope="module")
def gpu():
    if torch.cuda.is_available():
        yield
    else:
        with simulated_cuda.simulated():
            yield


@pytest.mark.parametrize("body", MUTANTS)
def test_a_missing_move_is_fixed_in_at_most_three_steps(student, body):
    error = student.error_of(body, {})
    assert error is not None, "the program does not need this move"
    for _ in range(MAX_BOXES):
        error = student.error_of(explain(error).fix.text, {})
        if error is None:
            break
    assert error is None
