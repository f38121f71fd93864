"""Answers to lab 10, exercise 5: `histogram`."""

from helpers.checks import lab_10
from tests.helpers.checks.answers import Answers
from tests.helpers.checks.lab_10.edits import collect_common, editor

answers = Answers(lab_10.exercise_5)
collect = editor(answers)
ZEROS = "torch.zeros(bins, dtype=torch.int32, device=values.device)"
collect_common(collect, ZEROS, "counts", "values")
BINS, MASK = "counts_ptr + number", "mask=number < bins"
ADD = f"tl.atomic_add({BINS}, found, {MASK})"

collect(None, "one_atomic_per_value", (ADD, "tl.atomic_add(counts_ptr + value, 1, mask=i < n)"))
collect(None, "zeros_in_place", (ZEROS, ZEROS.replace("zeros", "empty") + ".zero_()"))
editor(answers, given=True)("race", "as_given")
collect(
    "race", "loads_and_stores", (ADD, f"tl.store({BINS}, found + tl.load({BINS}, {MASK}), {MASK})")
)
collect(
    "zeroing",
    "zeroed_by_one",
    (ADD, f"if tl.program_id(0) == 0: tl.store({BINS}, 0, {MASK})\n    {ADD}"),
)
collect("outside", "all_bins", (f", {MASK}", ""))
collect("undefined", "starts_with_any_number", ("torch.zeros", "torch.empty"))
collect("not-covered", "last_bin_missing", ("number < bins", "number < bins - 1"))
collect("wrong-result", "padding_is_a_number", ("other=-1", "other=0"))
collect("wrong-result", "no_other", (", other=-1", ""))
collect("wrong-result", "last_values_missing", ("i < n", "i < n - 1"))
AGAIN = f"for _ in range(20): tl.load(values_ptr + i, mask=i < n)\n    {ADD}"
collect("too-many-bytes", "reads_20_times", (ADD, AGAIN))

test_answers = answers.make_test()
