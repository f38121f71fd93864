"""Checks do not import torch's compiler by accident, which takes seconds."""

from pathlib import Path

import pytest

from tests.conftest import run_python

# Runs right answers. torch's optimizers and `checkpoint` import the compiler themselves.
CODE = """
import importlib, pathlib, sys
for test in sorted(pathlib.Path("tests/helpers/checks").glob("lab_*/test_exercise_*.py")):
    text = test.read_text(encoding="utf-8")
    if "optim" not in text and "checkpoint" not in text:
        answers = importlib.import_module(".".join(test.with_suffix("").parts)).answers
        for answer in [answer for answer, hint in answers.collected if hint is None]:
            answers.exercise.check(*answers.arguments(answer), seed=1)
        assert "torch._dynamo" not in sys.modules, test
"""


@pytest.mark.slow
def test_only_optimizers_and_checkpoints_import_the_compiler():
    process = run_python("-c", CODE, cwd=Path(__file__).parents[3])
    assert process.returncode == 0, process.stderr
