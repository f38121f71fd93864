"""Every collected answer to lab 02 gets the verdict and the hint meant for it."""

from tests.checks.judged import EveryAnswer
from tests.checks.lab_02_answers import answers


class TestLab02(EveryAnswer):
    answers = answers
