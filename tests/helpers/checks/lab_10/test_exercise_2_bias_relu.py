"""Answers to lab 10, exercise 2: `bias_relu`."""

from helpers.checks import lab_10
from tests.helpers.checks.answers import Answers
from tests.helpers.checks.lab_10.edits import collect_common, editor

answers = Answers(lab_10.exercise_2)
collect = editor(answers)
collect_common(collect, "torch.empty_like(X)", "out", "X")
LAUNCH = "bias_relu_kernel[(rows, triton.cdiv(columns, 32))](X, bias, out, columns, BLOCK=32)"
RELU, X_LOAD = "tl.maximum(x + bias, 0.0)", "tl.load(x_ptr + row * columns + column, mask=mask)"

collect(None, "with_where", (RELU, "tl.where(x + bias > 0, x + bias, 0.0)"))
collect("torch-computes", "relu_with_torch", ("return out", "return out.relu_()"))
collect("outside", "no_mask_for_x", (X_LOAD, X_LOAD.replace(", mask=mask", "")))
collect("outside", "bias_of_the_matrix", ("bias_ptr + column", "bias_ptr + row * columns + column"))
BIAS = "bias_ptr + column, mask=mask"
collect("outside", "mask_of_the_row", (BIAS, "bias_ptr + column, mask=row < 5"))
collect("undefined", "bias_mask_too_strict", (BIAS, "bias_ptr + column, mask=column < 9"))
collect("not-covered", "grid_without_columns", ("(rows, triton.cdiv(columns, 32))", "(rows, 1)"))
collect("wrong-result", "bias_of_the_first_block", (BIAS, "bias_ptr + column % BLOCK, mask=mask"))
collect("race", "blocks_overlap", ("tl.program_id(1) * BLOCK", "tl.program_id(1) * BLOCK // 2"))
collect("wrong-result", "no_relu", (RELU, "x + bias"))
collect("wrong-result", "relu_before_the_bias", (RELU, "tl.maximum(x, 0.0) + bias"))
collect("too-many-bytes", "launches_twice", (LAUNCH, f"{LAUNCH}\n    {LAUNCH}"))
collect("too-many-bytes", "reads_twice", (RELU, f"tl.maximum(x + bias, 0.0 * {X_LOAD})"))

test_answers = answers.make_test()
