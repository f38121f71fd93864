"""Lab 10, exercise 4: a linear layer, one tile of its result per program."""

import torch

from helpers.checks.plain import is_close

answers = "linear(X, weight, bias)"
points = 4
success = "Each number that was read is used for a whole row or column of a tile."
section = "A matrix product in tiles"


def cases(draw):
    for rows, columns in ((43, 20), (19, 68)):
        M, N, K = rows + draw.randint(0, 4), draw.randint(59, 63), columns + draw.randint(0, 4)
        shapes = {"X": (M, K), "weight": (N, K), "bias": (N,)}
        # Integers, because a GPU may round the numbers of `tl.dot` to 11 bits (TF32).
        x = {n: draw.integers(-9, 10, x, draw.device, torch.float32) for n, x in shapes.items()}
        # Each program reads 16 rows of X, 32 of `weight` and 32 biases, which may be padded.
        yield x | {"device": draw.device, "bytes": 4 * (-(-M // 16) * 2 * (48 * K + 32) + M * N)}


def right(case, i=0, j=None):
    return case.X.values[:, i:j] @ case.weight.values[:, i:j].T + case.bias.values


mistakes = {
    "one-step": lambda f: any(is_close(f.value, right(f.case, i, i + 16)) for i in (0, 16, 64))
}
hints = """
one-step: A tile of the result has the product of only one tile of `X` and one of `weight`.
    -> Which tiles does it need? Are the products added, or is one replaced?
wrong-result: Element {place} of the result is {found:.4g}, but it should be {exact:.4g}.
    -> Where does row 1 of `weight` start? Is the bias added once, after the last step?
"""
