"""Every collected answer to lab 04 gets the right verdict and hint."""

from tests.helpers.checks.answer_tests import AnswerTests
from tests.helpers.checks.lab_04_answers import answers


class TestLab04(AnswerTests):
    answers = answers
