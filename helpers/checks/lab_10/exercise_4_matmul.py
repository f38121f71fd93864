"""Lab 10, exercise 4: a matrix product, one tile per program."""

import torch

from helpers.checks.plain import is_close

answers = "matmul(A, B)"
points = 4
success = "Each element that was read is used in 16 products."
section = "A matrix product in tiles"


def cases(draw):
    M, N, K = draw.randint(25, 31), draw.randint(41, 43), draw.randint(44, 47)
    # Integers, because a GPU may round the numbers of `tl.dot` to 11 bits (TF32).
    shapes = (M, K), (K, N)
    A, B = (draw.integers(-9, 10, n, draw.device, torch.float32) for n in shapes)
    # Six programs read 16 rows of A and 16 columns of B, which may be padded.
    yield {"A": A, "B": B, "device": draw.device, "bytes": 4 * (6 * 32 * K + M * N)}


def right(case, first=0, end=None):
    return case.A.values[:, first:end] @ case.B.values[first:end]


mistakes = {
    "one-step": lambda f: any(is_close(f.value, right(f.case, i, i + 16)) for i in (0, 16, 32))
}
hints = """
one-step: A tile of the result has the product of only one tile of `A` and one tile of `B`.
    -> Which tiles of `A` and `B` does it need? Are the products added, or is one replaced?
"""
