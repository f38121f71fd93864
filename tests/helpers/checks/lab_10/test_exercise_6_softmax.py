"""Answers to lab 10, exercise 6: `softmax`."""

from helpers.checks import lab_10
from tests.helpers.checks.answers import Answers
from tests.helpers.checks.lab_10.edits import collect_common, editor

answers = Answers(lab_10.exercise_6)
collect = editor(answers)
collect_common(collect, "torch.empty_like(X)", "out", "X")
FACTOR, LOAD = "total * tl.exp(largest - new)", "tl.load(x_ptr + first + i, mask=i < columns)"

collect(None, "blocks_of_32", ("BLOCK=16", "BLOCK=32"))
collect("outside", "no_mask_for_the_result", ("/ total, mask=i < columns", "/ total"))
collect("undefined", "no_other", (', other=-float("inf")', ""))
collect("not-covered", "last_block_missing", ("range(0, columns,", "range(0, columns - BLOCK,"))
collect("race", "same_row_for_all", ("tl.program_id(0)", "0"))
collect("wrong-sum", "padding_is_zero", ('other=-float("inf")', "other=0.0"))
collect("undefined", "factor_inverted", (FACTOR, "total * tl.exp(new - largest)"))
collect("wrong-sum", "sum_not_rescaled", (FACTOR, "total"))
collect("wrong-sum", "not_normalized", (" / total", ""))
FIRST = "total = 0.0\n    for start in range(0, columns, BLOCK):\n        i = start + tl"
collect("wrong-sum", "first_element_missing", (FIRST, FIRST.replace("tl", "1 + tl")))
collect("wrong-result", "last_block_twice", ("x - largest) / total", "x - x) / columns"))
collect("overflow", "no_maximum", ("x - new", "x"), ("x - largest", "x"), (FACTOR, "total"))
collect("overflow", "maximum_starts_at_0", ("largest = -3.4e38", "largest = 0.0"))
NEW = "tl.maximum(largest, tl.max(x))"
collect("overflow", "maximum_of_the_first_block", (NEW, "largest if start else tl.max(x)"))
collect("whole-row", "one_block_per_row", ("BLOCK=16", "BLOCK=64"), (f"{LOAD}\n", "x\n"))
collect("too-many-bytes", "reads_three_times", ("tl.exp(x - largest)", f"tl.exp({LOAD} - largest)"))

test_answers = answers.make_test()
