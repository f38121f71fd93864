"""Every collected answer to lab 02 gets the verdict and the hint meant for it."""

from tests.helpers.checks.judged import EveryAnswer
from tests.helpers.checks.lab_02_answers import answers


class TestLab02(EveryAnswer):
    answers = answers
