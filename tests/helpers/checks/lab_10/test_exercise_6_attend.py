"""Answers to lab 10, exercise 6: `attend`."""

from helpers.checks import lab_10
from tests.helpers.checks.answers import Answers
from tests.helpers.checks.lab_10.edits import collect_common, editor

answers = Answers(lab_10.exercise_6)
collect = editor(answers)
collect_common(collect, "torch.empty(len(scores), 8, device=scores.device)", "out", "scores")
TOTAL, MEAN = "total * factor", "mean * factor"
LOAD = "tl.load(scores_ptr + tl.program_id(0) * n + i, mask=i < n"
SUM = "tl.sum(weights[:, None] * v, axis=0)"

collect(None, "blocks_of_32", ("BLOCK=16", "BLOCK=32"))
collect(
    None,
    "keeps_the_mean",
    (MEAN, "mean"),
    (f" + {SUM}", f" * 1.0 + ({SUM} - mean * tl.sum(weights)) / total"),
    ("mean / total", "mean"),
)
collect("outside", "no_mask_for_v", ("v_place, mask=i[:, None] < n, other=0.0", "v_place"))
collect("outside", "strides_swapped", ("i[:, None] * COLUMNS + column", "i[:, None] * n + column"))
collect("undefined", "no_other", (', other=-float("inf")', ""))
collect("undefined", "no_other_for_v", ("n, other=0.0", "n"))
collect(
    "not-covered",
    "half_of_the_columns",
    ("column, mean / total", "column, mean / total, column < 4"),
)
collect("race", "same_row_for_all", ("tl.program_id(0)", "0"))
collect("wrong-sum", "padding_is_zero", ('other=-float("inf")', "other=0.0"))
collect("undefined", "factor_inverted", ("tl.exp(largest - new)", "tl.exp(new - largest)"))
collect(
    "wrong-result",
    "not_rescaled",
    ("factor, weights = tl.exp(largest - new)", "factor, weights = 1.0"),
)
collect("wrong-sum", "sum_not_rescaled", (TOTAL, "total"))
collect("wrong-sum", "rows_not_rescaled", (MEAN, "mean"))
collect("wrong-sum", "not_normalized", (" / total", ""))
collect("wrong-result", "last_block_missing", ("range(0, n,", "range(0, n - BLOCK,"))
collect("wrong-result", "first_score_missing", ("i = start + tl", "i = start + 1 + tl"))
collect("overflow", "no_maximum", ("x - new", "x"), ("tl.exp(largest - new)", "1.0"))
collect("overflow", "maximum_starts_at_minus_1000", ("largest = -3.4e38", "largest = -1000.0"))
NEW = "tl.maximum(largest, tl.max(x))"
collect("overflow", "maximum_of_the_first_block", (NEW, "largest if start else tl.max(x)"))
collect("whole-row", "one_block_per_row", ("BLOCK=16", "BLOCK=64"))
collect("too-many-bytes", "reads_twice", ("tl.max(x)", f"tl.max({LOAD}, other=-1e38))"))

test_answers = answers.make_test()
