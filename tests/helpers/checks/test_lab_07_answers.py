"""Every collected answer to lab 07 gets the right verdict and hint."""

from tests.helpers.checks.answer_tests import AnswerTests
from tests.helpers.checks.lab_07_answers import answers


class TestLab07(AnswerTests):
    answers = answers
