"""Every collected answer to lab 01 gets the right verdict and hint."""

from tests.helpers.checks.answer_tests import AnswerTests
from tests.helpers.checks.lab_01_answers import answers


class TestLab01(AnswerTests):
    answers = answers
