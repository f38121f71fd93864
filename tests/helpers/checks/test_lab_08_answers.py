"""Every collected answer to lab 08 gets the right verdict and hint."""

from helpers.checks.lab_08 import exercise_5_utilization
from tests.helpers.checks.answer_tests import AnswerTests
from tests.helpers.checks.lab_08_answers import answers, sorts_and_covers


class TestLab08(AnswerTests):
    answers = answers


def test_right_answer_passes_if_kernels_run_half_of_the_time(monkeypatch):
    # Then the fraction of time with a kernel equals that without a kernel.
    kernels = [(20, 5), (30, 3), (38, 4), (44, 5), (60, 3), (67, 7)]
    monkeypatch.setattr(exercise_5_utilization, "_sequential_kernels", lambda trial: kernels)
    assert sorts_and_covers(kernels) == 0.5
    assert answers.checks.lab.exercises[5].judge(sorts_and_covers).passed
