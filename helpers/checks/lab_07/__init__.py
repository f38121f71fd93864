"""The checks of lab 07, what fills a GPU's memory: one module per exercise."""

from helpers.checks.lab_07.exercise_1_training_bytes import exercise_1
from helpers.checks.lab_07.exercise_2_compute_losses import exercise_2
from helpers.checks.lab_07.exercise_3_accumulated_step import exercise_3
from helpers.checks.lab_07.exercise_4_checkpointed import exercise_4
from helpers.checks.lab_07.exercise_5_train import exercise_5
from helpers.checks.lab_07.shared import lab

__all__ = ["exercise_1", "exercise_2", "exercise_3", "exercise_4", "exercise_5", "lab"]
