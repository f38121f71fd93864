"""Every collected answer to lab 05 gets the verdict and the hint meant for it."""

from tests.helpers.checks.judged import EveryAnswer
from tests.helpers.checks.lab_05_answers import answers


class TestLab05(EveryAnswer):
    answers = answers
