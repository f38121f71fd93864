"""The checks of lab 05, when the GPU wins: one module per exercise."""

from helpers.checks.lab_05.exercise_1_seconds_per_call import exercise_1
from helpers.checks.lab_05.exercise_2_seconds_per_part import exercise_2
from helpers.checks.lab_05.exercise_3_prepare import exercise_3
from helpers.checks.lab_05.exercise_4_plan import exercise_4
from helpers.checks.lab_05.shared import lab

__all__ = ["exercise_1", "exercise_2", "exercise_3", "exercise_4", "lab"]
