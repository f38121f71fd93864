"""The checks of lab 08, mixed precision and profiling: one module per exercise."""

from helpers.checks.lab_08.exercise_1_keep_bits import exercise_1
from helpers.checks.lab_08.exercise_2_largest_scale import exercise_2
from helpers.checks.lab_08.exercise_3_predict import exercise_3
from helpers.checks.lab_08.exercise_4_training_step import exercise_4
from helpers.checks.lab_08.exercise_5_utilization import exercise_5
from helpers.checks.lab_08.shared import lab

__all__ = [
    "exercise_1",
    "exercise_2",
    "exercise_3",
    "exercise_4",
    "exercise_5",
    "lab",
]
