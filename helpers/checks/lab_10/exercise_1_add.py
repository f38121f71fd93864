"""Lab 10, exercise 1: the sum of two matrices with any strides."""

from helpers.checks.lab_10 import shared

answers = "add(X, Y)"
points = 2
success = "Every element is added once, wherever it is in memory."
section = "Summary"


def cases(draw):
    for x, y in ("whole", "whole"), ("transposed", "part"), ("part", "transposed"):
        rows, columns = draw.randint(3, 4), draw.randint(33, 47)
        strides = {"whole": (columns, 1), "transposed": (1, rows), "part": (2 * columns + 3, 2)}
        X, Y = (draw.normal(rows, columns, device=draw.device) for _ in range(2))
        case = {"X": X, "Y": Y, "X_strides": strides[x], "Y_strides": strides[y]}
        yield case | {"special": x != "whole", "device": draw.device}


def right(case):
    return case.X.values + case.Y.values


collect = shared.collector("X", "Y")
errors = {"wrong-strides": lambda f: f.case.special and f.outside}
mistakes = {"wrong-strides": lambda f: f.case.special}
hints = """
wrong-strides: The sum is right, but not if `X` has the strides {X_strides} and `Y` {Y_strides}.
    -> Each matrix has two strides. How far apart are two neighbors in a row, and in a column?
"""
