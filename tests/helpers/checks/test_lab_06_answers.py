"""Every collected answer to lab 06 gets the right verdict and hint."""

from tests.helpers.checks.answer_tests import EveryAnswer
from tests.helpers.checks.lab_06_answers import answers


class TestLab06(EveryAnswer):
    answers = answers
