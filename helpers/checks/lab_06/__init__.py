"""The checks of lab 06, CIFAR-10 in seconds: one module per exercise."""

from helpers.checks.lab_06.exercise_1_random_flip import exercise_1
from helpers.checks.lab_06.exercise_2_random_shift import exercise_2
from helpers.checks.lab_06.exercise_3_predict import exercise_3
from helpers.checks.lab_06.exercise_4_lr_at import exercise_4
from helpers.checks.lab_06.exercise_5_smoothed_loss import exercise_5
from helpers.checks.lab_06.exercise_6_learn import exercise_6
from helpers.checks.lab_06.shared import lab

__all__ = [
    "exercise_1",
    "exercise_2",
    "exercise_3",
    "exercise_4",
    "exercise_5",
    "exercise_6",
    "lab",
]
