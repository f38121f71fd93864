"""Every collected answer to lab 03 gets the verdict and the hint meant for it."""

from tests.helpers.checks.judged import EveryAnswer
from tests.helpers.checks.lab_03_answers import answers


class TestLab03(EveryAnswer):
    answers = answers
