"""Every collected answer to lab 06 gets the right verdict and hint."""

from tests.helpers.checks.answer_tests import AnswerTests
from tests.helpers.checks.lab_06_answers import answers


class TestLab06(AnswerTests):
    answers = answers
