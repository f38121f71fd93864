"""The checks of lab 02, device mismatch errors: one module per exercise."""

from helpers.checks.lab_02.exercise_1_eight_lines import exercise_1
from helpers.checks.lab_02.exercise_2_moves import exercise_2
from helpers.checks.lab_02.exercise_3_evaluate_batch import exercise_3
from helpers.checks.lab_02.exercise_4_build_batch import exercise_4
from helpers.checks.lab_02.shared import lab

__all__ = ["exercise_1", "exercise_2", "exercise_3", "exercise_4", "lab"]
