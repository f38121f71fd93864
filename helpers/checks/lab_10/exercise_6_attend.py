"""Lab 10, exercise 6: softmax @ V for rows of scores that do not fit in a block."""

import torch

from helpers.checks.plain import PlainTensor

answers = "attend(scores, V)"
points = 4
success = "One pass over the scores, and no number is too large."
section = "Online softmax"


def cases(draw):
    # The maximum grows with each block, only with the second one, or never.
    for scale, offset, shift in ((1, 0, None), (300, 0, 16), (1, -1e6, 0)):
        n = draw.randint(50, 60)
        x = draw.normal(3, n).values.sort(1, shift is not None).values.roll(shift or 0, 1)
        V = draw.normal(n, 8, device=draw.device)
        V.values[:, -1] = 1  # so the last column of the result is the sum of the weights
        case = {"scores": PlainTensor(x * scale + offset, draw.device), "V": V, "device": V.device}
        yield case | {"bytes": 12 * (9 * n + 8), "special": scale > 1 or offset}


def right(case):
    return torch.softmax(case.scores.values, 1) @ case.V.values


side_effects = {"overflow": lambda f: f.case.special and not f.value.values.isfinite().all()}
mistakes = {"wrong-sum": lambda f: abs((t := f.value.values[0, -1]) - 1) > 1e-3 and {"total": t}}
costs = {"whole-row": lambda f: f.largest >= f.case.V.values.numel()}
hints = """
overflow: The result is right for small scores, but not for large or very negative ones.
    -> exp(89) is inf, and exp(-104) is 0. What is subtracted? Which maximum does a row start with?
undefined: The result has numbers that are infinite or not a number (NaN).
    -> Is there inf - inf, 0 * inf, or a `tl.load` without `other=`? Is exp(old - new) at most 1?
wrong-sum: The weights of the rows of `V` add up to {total:.4g} instead of 1.
    -> When the maximum changes, which two sums are too large? By what is the result divided?
wrong-result: Element {place} of the result is {found:.4g}, but it should be {exact:.4g}.
    -> When the maximum changes, by which factor are both sums too large? Is every score used?
whole-row: A program reads all of `V` at once, but it may not fit in a block.
    -> Read 16 scores and 16 rows of `V` at a time.
"""
