"""Every collected answer to lab 02 gets the right verdict, and the lab quotes real messages."""

import re

import pytest

import simulated_cuda
from helpers.checks.lab_02.exercise_2_moves import LINES
from tests.helpers.checks.answer_tests import ROOT, AnswerTests
from tests.helpers.checks.lab_02_answers import answers


class TestLab02(AnswerTests):
    answers = answers


@pytest.mark.parametrize("letter", LINES)
def test_the_lab_quotes_the_message_of_each_line(letter):
    lab = ROOT / "labs" / "source" / "02_device_mismatch_errors.py"
    text = " ".join(re.sub(r"^#", "", lab.read_text(), flags=re.MULTILINE).split())
    line = LINES[letter]
    with simulated_cuda.simulated(devices=2, over_real=True):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            line.run(**line.values())
        message = " ".join(str(caught.value).split())
    quoted = text.split(f"**{letter}.** `{line.code}`")[1].split("**")[0]
    assert message in quoted
