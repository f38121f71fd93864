"""Answers to lab 10, exercise 3: `layer_norm`."""

from helpers.checks import lab_10
from tests.helpers.checks.answers import Answers
from tests.helpers.checks.lab_10.edits import collect_common, editor

answers = Answers(lab_10.exercise_3)
collect = editor(answers)
collect_common(collect, "torch.empty_like(X)", "out", "X")

MEAN, DIFFERENCE = "tl.sum(x) / columns", f"tl.where(mask, x - tl.sum(x) / columns, 0.0)"

collect(
    None,
    "variance_as_difference_of_squares",
    (
        "tl.sum(difference * difference) / columns",
        "tl.sum(x * x) / columns - (tl.sum(x) / columns) * (tl.sum(x) / columns)",
    ),
)
collect(
    "torch-computes",
    "without_the_kernel",
    ("return out", "return torch.nn.functional.layer_norm(X, X.shape[1:], weight, bias, eps)"),
)
collect("outside", "block_is_not_masked", ("mask=mask, other=0.0", ""))
collect("undefined", "no_other", (", other=0.0", ""))
collect("not-covered", "block_too_small", ("triton.next_power_of_2(columns)", "16"))
collect("race", "same_row_for_all", ("tl.program_id(0)", "0"))
collect("padding-counts", "difference_not_masked", (DIFFERENCE, f"x - {MEAN}"))
collect("mean-over-block", "divides_by_the_block", ("/ columns", "/ BLOCK"))
collect(
    "mean-over-block",
    "block_without_mask",
    (DIFFERENCE, f"x - {MEAN}"),
    ("/ columns", "/ BLOCK"),
)
collect("wrong-result", "no_weight", (" * weight", ""))
collect("wrong-result", "eps_outside", ("tl.sqrt(variance + eps)", "(tl.sqrt(variance) + eps)"))
collect(
    "reads-again",
    "reads_twice",
    (
        "difference = tl",
        "x += 0 * tl.load(x_ptr + tl.program_id(0) * columns + column, mask=mask)\n    difference = tl",
    ),
)

test_answers = answers.make_test()
