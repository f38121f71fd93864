"""Lab 10, exercise 1: the sum of two matrices with any strides."""

from helpers.checks.plain import PlainTensor

answers = "add(X, Y)"
points = 2
success = "Every element is added once, wherever it is in memory."
section = "One program, one block"


def cases(draw):
    rows, columns = draw.randint(4, 5), draw.randint(33, 47) | 1
    for special in (0, 1, 2):
        values = [draw.normal(rows, columns).values for _ in range(2)]
        X, Y = (x.T.contiguous().T if special == i else x for i, x in enumerate(values, 1))
        case = {"X": PlainTensor(X, draw.device), "Y": PlainTensor(Y, draw.device)}
        case |= {"device": draw.device, "bytes": 12 * rows * columns, "special": special}
        yield case | {"x": X.stride(), "y": Y.stride()}


def right(case):
    return case.X.values + case.Y.values


errors = mistakes = {"wrong-strides": lambda f: f.case.special}
hints = """
wrong-strides: The sum is right, but not if the strides of `X` are {x} and those of `Y` are {y}.
    -> Each matrix has two strides. How far apart are two neighbors in a row, and in a column?
    see: A wrong stride
"""
