"""Every collected answer to lab 09 gets the right verdict and hint."""

from tests.helpers.checks.answer_tests import AnswerTests
from tests.helpers.checks.lab_09_answers import answers


class TestLab09(AnswerTests):
    answers = answers
