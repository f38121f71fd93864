"""Lab 10, exercise 4: a matrix product, one tile per program."""

from helpers.checks.plain import is_close

answers = "matmul(A, B)"
points = 4
success = "Each element that was read is used in 16 products."
section = "A matrix product in tiles"


def cases(draw):
    M, N, K = draw.randint(17, 31), draw.randint(33, 47), draw.randint(33, 47)
    A, B = (draw.normal(*shape, device=draw.device) for shape in ((M, K), (K, N)))
    # There are 2 rows and 3 columns of tiles.
    yield {"A": A, "B": B, "device": draw.device, "bytes": 4 * (3 * M * K + 2 * K * N + M * N)}


def right(case, first=0, end=None):
    return case.A.values[:, first:end] @ case.B.values[first:end]


mistakes = {
    "one-step": lambda f: any(is_close(f.value, right(f.case, i, i + 16)) for i in (0, 16, 32))
}
hints = """
one-step: A tile of the result has the product of only one tile of `A` and one tile of `B`.
    -> Which tiles of `A` and `B` does it need? Are the products added, or is one replaced?
"""
