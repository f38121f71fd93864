"""Every collected answer to lab 03 gets the right verdict and hint."""

from tests.helpers.checks.answer_tests import AnswerTests
from tests.helpers.checks.lab_03_answers import answers


class TestLab03(AnswerTests):
    answers = answers
