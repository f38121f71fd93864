"""Answers to lab 10, exercise 1: `add`."""

from helpers.checks import lab_10
from tests.helpers.checks.answers import Answers
from tests.helpers.checks.lab_10.edits import collect_common, editor

answers = Answers(lab_10.exercise_1)
collect = editor(answers)
collect_common(collect, "torch.empty(X.shape, device=X.device)", "out", "X")
GRID = "(rows, triton.cdiv(columns, 16))"
X_PLACE, Y_PLACE = "row * x_row + column * x_column", "row * y_row + column * y_column"

collect(None, "one_program_per_row", (GRID, "(rows, 1)"), ("BLOCK=16", "BLOCK=64"))
collect("torch-computes", "copies_first", ("rows, columns", "X = X.clone()\n    rows, columns"))
collect("outside", "no_mask", (", mask=mask", ""))
collect("outside", "mask_includes_the_end", ("< columns", "<= columns"))
collect("undefined", "load_mask_too_strict", ("x_column, mask=mask", "x_column, mask=column < 20"))
collect("not-covered", "grid_rounded_down", (GRID, "(rows, columns // 16)"))
collect(
    "not-covered", "no_store", ("tl.store(out_ptr + ", "(out_ptr + "), (", x + y, mask=mask)", ")")
)
collect("not-covered", "axes_swapped", ("id(0)", "id(2)"), ("id(1)", "id(0)"), ("id(2)", "id(1)"))
collect("not-covered", "mask_ends_too_early", ("< columns", "< columns - 1"))
collect("race", "every_program_takes_the_first_row", ("tl.program_id(0)", "0"))
collect("wrong-result", "subtracts", ("x + y", "x - y"))
collect("wrong-strides", "assumes_contiguous", (X_PLACE, "row * columns + column"))
collect("wrong-strides", "strides_of_x_for_y", (Y_PLACE, X_PLACE))
collect(
    "too-many-bytes", "loads_x_twice", ("x + y,", f"x + y + 0 * tl.load(x_ptr + {X_PLACE}, mask),")
)

test_answers = answers.make_test()
