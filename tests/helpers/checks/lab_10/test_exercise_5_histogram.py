"""Answers to lab 10, exercise 5: `histogram`."""

from helpers.checks import lab_10
from tests.helpers.checks.answers import Answers
from tests.helpers.checks.lab_10.edits import collect_common, editor

answers = Answers(lab_10.exercise_5)
collect = editor(answers)
collect_common(
    collect, "torch.zeros(bins, dtype=torch.int32, device=values.device)", "counts", "values"
)

ADD = "tl.atomic_add(counts_ptr + number, found, mask=number < bins)"
ZEROING = (
    "if tl.program_id(0) == 0:\n        tl.store(counts_ptr + number, 0, mask=number < bins)\n    "
)

collect(None, "one_atomic_per_value", (ADD, "tl.atomic_add(counts_ptr + value, 1, mask=i < n)"))
editor(answers, given=True)("race", "as_given")
collect(
    "torch-computes",
    "without_the_kernel",
    ("return counts", "return torch.bincount(values, minlength=bins).int()"),
)
collect("outside", "all_bins", (", mask=number < bins", ""))
collect("zeroing", "zeroed_by_one_program", (ADD, ZEROING + ADD))
collect(
    "race",
    "read_and_store",
    (
        ADD,
        "tl.store(counts_ptr + number, found + tl.load(counts_ptr + number, mask=number < bins), mask=number < bins)",
    ),
)
collect("undefined", "starts_with_any_number", ("torch.zeros", "torch.empty"))
collect("padding-counted", "padding_is_a_number", ("other=-1", "other=0"))
collect("not-covered", "last_bin_missing", ("number < bins", "number < bins - 1"))
collect("wrong-result", "last_values_missing", ("i < n", "i < n - 1"))

test_answers = answers.make_test()
