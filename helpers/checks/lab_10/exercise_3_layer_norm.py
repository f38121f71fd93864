"""Lab 10, exercise 3: each row minus its mean, divided by its standard deviation."""

from helpers.checks.lab_10 import shared
from helpers.checks.plain import PlainTensor, is_close

answers = "layer_norm(X, weight, bias, eps)"
points = 3
success = "Mean and variance are those of the row, not of the block."
section = "Summary"
tolerance = 1e-4


def cases(draw):
    for eps in (1e-5, 0.5):
        rows, columns = draw.randint(3, 4), draw.randint(18, 28)
        weight, bias = (draw.normal(columns, device=draw.device) for _ in range(2))
        case = {"X": PlainTensor(draw.normal(rows, columns).values + 2, draw.device), "eps": eps}
        yield case | {"weight": weight, "bias": bias, "columns": columns, "device": draw.device}


def right(case, size=None, padding=0):
    """Return the result, or that with other sizes of a row, or with zeros that count."""
    X, n = case.X.values.double(), size or case.columns
    mean = X.sum(1, keepdim=True) / n
    variance = (((X - mean) ** 2).sum(1, keepdim=True) + padding * mean**2) / n
    y = (X - mean) / (variance + case.eps).sqrt()
    return (y * case.weight.values + case.bias.values).float()


collect = shared.collector("X", "weight", "bias", "eps")
wrong_outcomes = {
    "padding-counts": lambda case: right(case, padding=32 - case.columns),
    "mean-over-block": lambda case: right(case, 32),
}
mistakes = {
    "mean-over-block": lambda f: is_close(f.value, right(f.case, 32, 32 - f.case.columns)),
}
costs = {"reads-again": shared.reads_again(X=1)}
hints = """
padding-counts: The variance counts all elements of the block, but a row has only {columns}.
    -> What is the difference from the mean where the mask is false? `tl.where` can change it.
mean-over-block: The sums are divided by the size of the block, but a row has {columns} elements.
    -> Which number do you divide by, for the mean and for the variance?
"""
