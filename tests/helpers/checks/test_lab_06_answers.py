"""Every collected answer to lab 06 gets the verdict and the hint meant for it."""

from tests.helpers.checks.judged import EveryAnswer
from tests.helpers.checks.lab_06_answers import answers


class TestLab06(EveryAnswer):
    answers = answers
