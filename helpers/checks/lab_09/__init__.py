"""The checks of lab 09, more than one GPU: one module per exercise."""

from helpers.checks.lab_09.exercise_1_share import exercise_1
from helpers.checks.lab_09.exercise_2_average_gradients import exercise_2
from helpers.checks.lab_09.exercise_3_ring_all_reduce import exercise_3
from helpers.checks.lab_09.exercise_4_plan import exercise_4
from helpers.checks.lab_09.exercise_5_epoch import exercise_5
from helpers.checks.lab_09.shared import lab

__all__ = ["exercise_1", "exercise_2", "exercise_3", "exercise_4", "exercise_5", "lab"]
