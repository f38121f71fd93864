"""Lab 10, exercise 4: a matrix product, one tile per program."""

from helpers.checks.lab_10 import shared

answers = "matmul(A, B)"
points = 4
success = "Each element that was read is used in 16 products."
section = "Summary"
tolerance = 1e-4


def cases(draw):
    for _ in range(2):
        M, N, K = draw.randint(17, 31), draw.randint(33, 47), draw.randint(33, 47)
        A, B = (draw.normal(*shape, device=draw.device) for shape in ((M, K), (K, N)))
        yield {"A": A, "B": B, "device": draw.device}


def right(case, steps=slice(None)):
    return case.A.values[:, steps] @ case.B.values[steps]


collect = shared.collector("A", "B")
wrong_outcomes = {
    "one-step": lambda case: right(case, slice(16)),
    "last-step": lambda case: right(case, slice(32, None)),
}
# The result has 2 rows and 3 columns of tiles.
costs = {"reads-again": shared.reads_again(A=3, B=2)}
hints = """
one-step: Only the first 16 columns of `A` and rows of `B` are used.
    -> A tile of the result needs a whole row of tiles of `A`. What must the loop go over?
last-step: Only the products of the last step are in the result.
    -> Each step adds to the sums before it. Where are they set to 0?
"""
