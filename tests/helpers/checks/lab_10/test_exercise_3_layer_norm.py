"""Answers to lab 10, exercise 3: `layer_norm`."""

from helpers.checks import lab_10
from tests.helpers.checks.answers import Answers
from tests.helpers.checks.lab_10.edits import collect_common, editor

answers = Answers(lab_10.exercise_3)
collect = editor(answers)
collect_common(collect, "torch.empty_like(X)", "out", "X")
DIFFERENCE = "tl.where(mask, x - tl.sum(x) / columns, 0.0)"
LOAD = "tl.load(x_ptr + tl.program_id(0) * columns + column, mask=mask, other=0.0)"
SQUARES = "tl.sum(x * x) / columns - (tl.sum(x) / columns) * (tl.sum(x) / columns)"

collect(None, "mean_of_squares", ("tl.sum(difference * difference) / columns", SQUARES))
collect("outside", "block_is_not_masked", ("mask=mask, other=0.0", ""))
collect("undefined", "no_other", (", other=0.0", ""))
collect("not-covered", "block_too_small", ("triton.next_power_of_2(columns)", "16"))
collect("race", "same_row_for_all", ("tl.program_id(0)", "0"))
collect("wrong-variance", "difference_not_masked", (DIFFERENCE, "x - tl.sum(x) / columns"))
collect("wrong-variance", "eps_outside", ("tl.sqrt(variance + eps)", "(tl.sqrt(variance) + eps)"))
collect("wrong-variance", "unbiased", ("* difference) / columns", "* difference) / (columns - 1)"))
collect("wrong-variance", "all_masked", ("mask=mask, other", "mask=False, other"))
collect("wrong-mean", "divides_by_the_block", ("/ columns", "/ BLOCK"))
collect("wrong-result", "wrong_sign", ("y = difference", "y = -difference"))
collect("too-many-bytes", "reads_twice", (LOAD, f"{LOAD} + 0 * {LOAD}"))

test_answers = answers.make_test()
