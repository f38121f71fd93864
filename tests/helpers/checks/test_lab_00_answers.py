"""Every collected answer to lab 00 gets the right verdict and hint."""

from tests.helpers.checks.answer_tests import AnswerTests
from tests.helpers.checks.lab_00_answers import answers


class TestLab00(AnswerTests):
    answers = answers
