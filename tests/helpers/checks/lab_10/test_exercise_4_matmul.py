"""Answers to lab 10, exercise 4: `matmul`."""

from helpers.checks import lab_10
from tests.helpers.checks.answers import Answers
from tests.helpers.checks.lab_10.edits import collect_common, editor

answers = Answers(lab_10.exercise_4)
collect = editor(answers)
collect_common(collect, "torch.empty(M, N, device=A.device)", "C", "A")

collect(None, "larger_tiles", ("16)", "32)"))
collect("outside", "no_mask_for_k", (" & (k[None, :] < K)", ""))
collect("outside", "stride_of_a_for_b", ("* N + column, mask=b_mask", "* K + column, mask=b_mask"))
collect("undefined", "no_other", (", other=0.0", ""))
collect("not-covered", "grid_rounded_down", ("triton.cdiv(N, 16)", "N // 16"))
collect("race", "same_column_for_all", ("tl.program_id(1)", "0"))
collect("one-step", "no_loop", ("range(0, K, TILE)", "range(0, TILE, TILE)"))
collect("one-step", "sums_replaced", ("a, b, total,", "a, b,"))
collect("wrong-result", "transposed_tiles", ("tl.dot(a, b,", "tl.dot(b.T, a.T,"))
collect("too-many-bytes", "small_tiles", ("16)", "8)"))

test_answers = answers.make_test()
