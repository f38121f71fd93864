"""Answers to lab 10, exercise 2: `bias_relu`."""

from helpers.checks import lab_10
from tests.helpers.checks.answers import Answers
from tests.helpers.checks.lab_10.edits import collect_common, editor

answers = Answers(lab_10.exercise_2, lambda f: (f, f.__globals__["moved_bytes"]))
collect = editor(answers)
collect_common(collect, "torch.empty_like(X)", "out", "X")

collect(None, "with_where", ("tl.maximum(x + bias, 0.0)", "tl.where(x + bias > 0, x + bias, 0.0)"))
collect("torch-computes", "relu_with_torch", ("return out", "return out.relu_()"))
collect(
    "outside",
    "no_mask_for_x",
    ("* columns + column, mask=mask)\n    b", "* columns + column)\n    b"),
)
collect("outside", "bias_of_the_matrix", ("bias_ptr + column", "bias_ptr + row * columns + column"))
collect(
    "undefined",
    "bias_mask_too_strict",
    ("bias_ptr + column, mask=mask", "bias_ptr + column, mask=column < 20"),
)
collect("not-covered", "grid_without_columns", ("(rows, triton.cdiv(columns, 32))", "(rows, 1)"))
collect("race", "blocks_overlap", ("tl.program_id(1) * BLOCK", "tl.program_id(1) * BLOCK // 2"))
collect("wrong-result", "no_relu", ("tl.maximum(x + bias, 0.0)", "x + bias"))
collect(
    "wrong-result",
    "relu_before_the_bias",
    ("tl.maximum(x + bias, 0.0)", "tl.maximum(x, 0.0) + bias"),
)
LAUNCH = "bias_relu_kernel[(rows, triton.cdiv(columns, 32))](X, bias, out, columns, BLOCK=32)"
collect("two-launches", "launches_twice", (LAUNCH, f"{LAUNCH}\n    {LAUNCH}"))
collect(
    "reads-again",
    "reads_twice",
    ("x + bias, 0.0", "x + bias, 0.0 * tl.load(x_ptr + row * columns + column, mask=mask)"),
)
collect("wrong-bytes", "elements", ("fused = 4 *", "fused ="))
collect("wrong-bytes", "no_bias", ("2 * rows * columns + columns", "2 * rows * columns"))
collect(
    "wrong-bytes", "one_number", ("return fused, fused + 4 * 2 * rows * columns", "return fused")
)

test_answers = answers.make_test()
