"""Every collected answer to lab 03 gets the right verdict and hint."""

from tests.helpers.checks.answer_tests import EveryAnswer
from tests.helpers.checks.lab_03_answers import answers


class TestLab03(EveryAnswer):
    answers = answers
