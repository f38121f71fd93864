"""Lab 10, exercise 3: each row minus its mean, divided by its standard deviation."""

import torch

from helpers.checks.plain import PlainTensor, is_close

answers = "layer_norm(X, weight, bias, eps)"
points = 3
success = "Mean and variance are those of the row, not of the block."
section = "Softmax of a row"


def cases(draw):
    for eps in (1e-5, 0.5):
        rows, columns = draw.randint(3, 4), draw.randint(18, 28)
        X = PlainTensor(draw.normal(rows, columns).values + 2, draw.device)
        weight, bias = (draw.normal(columns, device=draw.device) for _ in range(2))
        case = {"X": X, "weight": weight, "bias": bias, "eps": eps, "device": draw.device}
        yield case | {"bytes": 16 * rows * columns}


def right(case):
    X, weight, bias, eps = [*case.values()][:4]
    return torch.layer_norm(X.values, bias.shape, weight.values, bias.values, eps)


def moments(f):
    both = torch.stack([f.value.values, f.right])
    return torch.var_mean((both - f.case.bias.values) / f.case.weight.values, 2)


mistakes = {
    "wrong-mean": lambda f: moments(f)[1].abs().max() > 0.01,
    "wrong-variance": lambda f: not is_close(*moments(f)[0]),
}
hints = """
wrong-mean: In each row, (result - `bias`) / `weight` should have a mean of 0.
    -> What is the sum divided by? A block has more elements than a row. Are `weight` and
    `bias` both applied?
wrong-variance: The rows of (result - `bias`) / `weight` have a wrong variance.
    -> What is x - mean where the mask is false? How many squares are there? Where is `eps` added?
"""
