"""The checks of lab 03, moving a network: one module per exercise."""

from helpers.checks.lab_03.exercise_1_find_devices import exercise_1
from helpers.checks.lab_03.exercise_2_ranker import exercise_2
from helpers.checks.lab_03.exercise_3_move_both import exercise_3
from helpers.checks.lab_03.exercise_4_recurrent import exercise_4
from helpers.checks.lab_03.exercise_5_checkpoint import exercise_5
from helpers.checks.lab_03.shared import lab

__all__ = [
    "exercise_1",
    "exercise_2",
    "exercise_3",
    "exercise_4",
    "exercise_5",
    "lab",
]
