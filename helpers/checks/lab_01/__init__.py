"""The checks of lab 01, tensors and devices: one module per exercise."""

from helpers.checks.lab_01.exercise_1_move_all import exercise_1
from helpers.checks.lab_01.exercise_2_try_gpu import exercise_2
from helpers.checks.lab_01.exercise_3_add_ramp import exercise_3
from helpers.checks.lab_01.exercise_4_gpu_bytes import exercise_4
from helpers.checks.lab_01.exercise_5_compute_mean import exercise_5
from helpers.checks.lab_01.exercise_6_to_numpy import exercise_6
from helpers.checks.lab_01.shared import lab

__all__ = [
    "exercise_1",
    "exercise_2",
    "exercise_3",
    "exercise_4",
    "exercise_5",
    "exercise_6",
    "lab",
]
