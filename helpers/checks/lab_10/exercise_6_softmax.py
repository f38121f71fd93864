"""Lab 10, exercise 6: softmax of rows that do not fit in a block."""

import torch

from helpers.checks.plain import PlainTensor

answers = "softmax(X)"
points = 4
success = "Two passes over the row, and no number is too large."
section = "Online softmax"


def cases(draw):
    # First, each block has a new maximum. Then only the second one has, or none.
    for scale, offset, shift in ((1, 0, None), (300, 0, 16), (1, -1000, 0)):
        X = draw.normal(3, draw.randint(50, 60)).values.sort(1).values
        X = X if shift is None else X.flip(1).roll(shift, 1)
        case = {"X": PlainTensor(X * scale + offset, draw.device), "device": draw.device}
        yield case | {"bytes": 12 * X.numel(), "special": scale > 1 or offset}


def right(case):
    return torch.softmax(case.X.values, 1)


side_effects = {"overflow": lambda f: f.case.special and not f.value.values.isfinite().all()}
mistakes = {"wrong-sum": lambda f: abs((t := f.value.values.sum(1)[0]) - 1) > 1e-3 and {"total": t}}
costs = {"whole-row": lambda f: f.largest >= f.right.shape[1]}
hints = """
overflow: The softmax is right for small numbers, but not for large or very negative ones.
    -> exp(89) is too large for float32, and exp(-104) is 0. What do you subtract from each number?
    Which maximum does a row start with?
undefined: The result has numbers that are infinite or not a number (NaN).
    -> Is exp taken of a positive number, or of inf - inf? Which of exp(old - new) and exp(new -
    old) is at most 1? What does a `tl.load` without `other=` return where its mask is false?
wrong-sum: The results of a row add up to {total:.4g} instead of 1.
    -> When the maximum changes, by which factor is the sum so far too large? Does the sum count
    anything after the end of the row?
whole-row: A program reads a row as a whole, but a long row does not fit in a block.
    -> Read 16 elements at a time: first for the maximum and the sum, then for the result.
"""
