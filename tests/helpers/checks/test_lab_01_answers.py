"""Every collected answer to lab 01 gets the verdict and the hint meant for it."""

from tests.helpers.checks.judged import EveryAnswer
from tests.helpers.checks.lab_01_answers import answers


class TestLab01(EveryAnswer):
    answers = answers
