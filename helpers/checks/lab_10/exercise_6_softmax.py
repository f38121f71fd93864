"""Lab 10, exercise 6: softmax of rows that do not fit in a block."""

import torch
from torch.nn import functional as F

from helpers.checks.lab_10 import shared
from helpers.checks.plain import PlainTensor, is_close

answers = "softmax(X)"
points = 4
success = "Two passes over the row, and no number is too large."
section = "Summary"
tolerance = 1e-4


def cases(draw):
    for scale, offset in ((1, 0), (300, 0), (1, -1000)):
        rows, columns = draw.randint(3, 4), draw.randint(50, 60)
        # Each block has a new maximum; with large numbers, only the first one has.
        X = draw.normal(rows, columns).values.sort(1, descending=scale > 1).values * scale + offset
        case = {"X": PlainTensor(X, draw.device), "device": draw.device, "columns": columns}
        yield case | {"special": (scale, offset) != (1, 0), "first": X[0, 0].item()}


def right(case, zeros=0):
    return torch.softmax(F.pad(case.X.values, (0, zeros)), 1)[:, : case.columns]


def is_not_rescaled(f):
    X, end = f.case.X.values, f.case.columns - 1
    largest = X[:, [min(i | 15, end) for i in range(end + 1)]]  # of each element's block
    wrong = torch.exp(X - X[:, -1:]) / torch.exp(X - largest).sum(1, keepdim=True)
    return is_close(f.value, wrong, tolerance, tolerance)


collect = shared.collector("X")
wrong_outcomes = {"padding-counted": lambda case: right(case, -case.columns % 16)}
mistakes = {"overflow": lambda f: f.case.special, "not-rescaled": is_not_rescaled}
costs = {
    "whole-row": lambda f: f.reads["X"] == 1,
    "reads-again": shared.reads_again(X=2),
}
hints = """
not-rescaled: The sum is too large: its first terms belong to a smaller maximum.
    -> exp(x - old) is exp(x - new) times a factor. Multiply the sum by it in each step.
padding-counted: The sum counts elements after the end of the row.
    -> For which `other=` is the exponential 0?
overflow: The softmax is right for small numbers, but not for rows that start with {first:.0f}.
    -> exp(89) is too large for float32, and exp(-104) is 0. What do you subtract from each number?
    With which maximum does a row start?
whole-row: A program reads a row as a whole, but a long row does not fit in a block.
    -> Read 16 elements at a time: first for the maximum and the sum, then for the result.
"""
