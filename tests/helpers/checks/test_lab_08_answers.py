"""Every collected answer to lab 08 gets the right verdict and hint."""

from tests.helpers.checks.answer_tests import AnswerTests
from tests.helpers.checks.lab_08_answers import answers


class TestLab08(AnswerTests):
    answers = answers
