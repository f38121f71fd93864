"""Every collected answer to lab 00 gets the right verdict and hint."""

from tests.helpers.checks.answer_tests import EveryAnswer
from tests.helpers.checks.lab_00_answers import answers


class TestLab00(EveryAnswer):
    answers = answers
