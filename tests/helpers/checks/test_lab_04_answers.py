"""Every collected answer to lab 04 gets the verdict and the hint meant for it."""

from tests.helpers.checks.judged import EveryAnswer
from tests.helpers.checks.lab_04_answers import answers


class TestLab04(EveryAnswer):
    answers = answers
