"""The checks of lab 04, CIFAR-10 on a GPU: one module per exercise."""

from helpers.checks.lab_04.exercise_1_train_classic import exercise_1
from helpers.checks.lab_04.exercise_2_accuracy import exercise_2
from helpers.checks.lab_04.exercise_3_per_class import exercise_3
from helpers.checks.lab_04.exercise_4_train_epoch import exercise_4
from helpers.checks.lab_04.shared import lab

__all__ = ["exercise_1", "exercise_2", "exercise_3", "exercise_4", "lab"]
