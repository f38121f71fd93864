"""Answers to lab 10, exercise 6: `softmax`."""

from helpers.checks import lab_10
from tests.helpers.checks.answers import Answers
from tests.helpers.checks.lab_10.edits import collect_common, editor

answers = Answers(lab_10.exercise_6)
collect = editor(answers)
collect_common(collect, "torch.empty_like(X)", "out", "X")

FIRST = "i < columns, other=-float('inf'))"

collect(None, "blocks_of_32", ("BLOCK=16", "BLOCK=32"))
collect("outside", "no_mask_for_the_result", ("/ total, mask=i < columns", "/ total"))
collect("undefined", "no_other", (', other=-float("inf")', ""))
collect(
    "not-covered",
    "last_block_missing",
    ("range(0, columns, BLOCK)", "range(0, columns - BLOCK, BLOCK)"),
)
collect("race", "same_row_for_all", ("tl.program_id(0)", "0"))
collect("padding-counted", "padding_is_zero", ('-float("inf"))\n        new', "0.0)\n        new"))
collect("not-rescaled", "sum_not_rescaled", ("total * tl.exp(largest - new)", "total"))
collect(
    "overflow",
    "without_the_maximum",
    ("x - new", "x"),
    ("x - largest", "x"),
    ("total * tl.exp(largest - new)", "total"),
)
collect("overflow", "maximum_starts_at_0", ('largest = -float("inf")', "largest = 0.0"))
collect("wrong-result", "not_normalized", (" / total", ""))
collect(
    "whole-row",
    "one_block_per_row",
    ("BLOCK=16", "BLOCK=64"),
    ("tl.load(x_ptr + first + i, mask=i < columns)\n", "x\n"),
)
collect(
    "reads-again",
    "three_passes",
    (
        "    largest = -",
        "    for start in range(0, columns, BLOCK):\n        i = start + tl.arange(0, BLOCK)\n        tl.load(x_ptr + first + i, mask=i < columns)\n    largest = -",
    ),
)

test_answers = answers.make_test()
