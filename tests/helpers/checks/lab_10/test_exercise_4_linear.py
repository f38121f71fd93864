"""Answers to lab 10, exercise 4: `linear`."""

from helpers.checks import lab_10
from tests.helpers.checks.answers import Answers
from tests.helpers.checks.lab_10.edits import collect_common, editor

answers = Answers(lab_10.exercise_4)
collect = editor(answers)
collect_common(collect, "torch.empty(M, N, device=X.device)", "out", "X")
WEIGHT, W_MASK = "weight_ptr + column * K + k[:, None]", "(k[:, None] < K) & (column < N)"
AS_STORED = (
    "weight_ptr + column.trans() * K + k[None, :]",
    "(k[None, :] < K) & (column.trans() < N)",
)
DOT, BIAS = "total = tl.dot(x, w, total,", "total += tl.load(bias_ptr + column, mask=column < N)"

collect(
    None,
    "transposes_the_tile",
    (WEIGHT, AS_STORED[0]),
    (W_MASK, AS_STORED[1]),
    (DOT, "total = tl.dot(x, w.T, total,"),
)
collect(None, "starts_with_the_bias", ("tl.zeros(", f"{BIAS[9:]} + tl.zeros("), (BIAS, "pass"))
collect(
    None, "wider_tiles", ("N, 32)", "N, 64)"), ("COLUMNS=32", "COLUMNS=64"), ("STEP=16", "STEP=32")
)
collect(
    None, "wraps_rows", ("row * K", "row % M * K"), ("(row < M) & (k[None", "(row > -1) & (k[None")
)
collect("outside", "no_mask_for_k", (" & (k[None, :] < K)", ""))
collect("outside", "no_mask_for_the_bias", ("column, mask=column < N", "column"))
collect("outside", "stride_of_the_result", (WEIGHT, "weight_ptr + column * N + k[:, None]"))
collect("undefined", "no_other", (", other=0.0", ""))
collect("not-covered", "grid_rounded_down", ("triton.cdiv(N, 32)", "N // 32"))
collect("not-covered", "axes_swapped", ("M, 16), triton.cdiv(N, 32", "N, 32), triton.cdiv(M, 16"))
collect("race", "same_column_for_all", ("tl.program_id(1)", "0"))
collect("one-step", "no_loop", ("range(0, K, STEP)", "range(0, STEP, STEP)"))
collect("one-step", "sums_replaced", (", w, total,", ", w,"))
collect("wrong-result", "not_transposed", (WEIGHT, "weight_ptr + k[:, None] * N + column"))
collect("wrong-result", "no_bias", (BIAS, "pass"))
collect("wrong-result", "bias_in_each_step", (DOT, f"{BIAS}; {DOT}"))
collect(
    "wrong-result", "bias_per_row", ("bias_ptr + column, mask=column", "bias_ptr + row, mask=row")
)
collect("too-many-bytes", "square_tiles", ("N, 32)", "N, 16)"), ("COLUMNS=32", "COLUMNS=16"))

test_answers = answers.make_test()
