"""Every collected answer to lab 05 gets the right verdict and hint."""

from tests.helpers.checks.answer_tests import AnswerTests
from tests.helpers.checks.lab_05_answers import answers


class TestLab05(AnswerTests):
    answers = answers
