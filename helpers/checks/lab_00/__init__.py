"""The checks of lab 00, CPU and GPU: one module per exercise."""

from helpers.checks.lab_00.exercise_1_absolute import exercise_1
from helpers.checks.lab_00.exercise_2_clip import exercise_2
from helpers.checks.lab_00.exercise_3_largest import exercise_3
from helpers.checks.lab_00.exercise_4_cycles import exercise_4
from helpers.checks.lab_00.exercise_5_dot import exercise_5
from helpers.checks.lab_00.exercise_6_groups import exercise_6
from helpers.checks.lab_00.shared import lab

__all__ = [
    "exercise_1",
    "exercise_2",
    "exercise_3",
    "exercise_4",
    "exercise_5",
    "exercise_6",
    "lab",
]
