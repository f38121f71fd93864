"""Lab 10, exercise 3: each row minus its mean, divided by its standard deviation."""

from torch.nn import functional as F

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
    return F.layer_norm(X.values, bias.shape, weight.values, bias.values, eps)


def normalized(result, case):
    return (result - case.bias.values) / case.weight.values


def find_wrong_variance(f):
    found, exact = (normalized(x, f.case).var(1)[0].item() for x in (f.value.values, f.right))
    return not is_close(found, exact) and {"factor": exact / max(found, 1e-9)}


mistakes = {
    "wrong-mean": lambda f: normalized(f.value.values, f.case).mean(1).abs().max() > 0.01,
    "wrong-variance": find_wrong_variance,
}
hints = """
wrong-mean: Before `weight` and `bias` are applied, the rows should have the mean 0, but have not.
    -> What is the sum divided by? A block has more elements than a row. Are both applied?
wrong-variance: A row's variance plus `eps` is wrong: it should be {factor:.3g} times as large.
    -> What is x - mean where the mask is false? How many squares are there? Where is `eps` added?
"""
