"""Lab 00, exercise 3: a program whose lanes each compute one cell of a matrix product."""

from itertools import product

from helpers.checks.lab_00.shared import NOTHING, a_program, failures, run, y_of

answers = "matrix_product()"
points = 4
success = "Every lane finds its own cell, whatever the shapes are."
section = "A matrix product splits into independent cells"
returns = a_program
outcome = y_of


def cases(draw):
    for m, k, n in (4, 3, 2), (1, 5, 4), (2, 1, 6), (3, 5, 3), (5, 2, 3), (1, 6, 1):
        x, w = (draw.integers(2, 20, (size,)).values.tolist() for size in (m * k, k * n))
        shape = {"m": m, "k": k, "n": n}
        data = {"x": x, "w": w, **shape, "y": [NOTHING] * m * n}
        # The solution takes 24 cycles, and 14 more for each product.
        yield {"data": data, "lanes": m * n + -m * n % 4, **shape, "limit": 60 + 50 * k}


def right(case, row=0, column=1, step=0, terms=0):
    """Return y, or what it is with other distances in memory or another number of terms."""
    (x, w, m, k, n, _), y = case.data.values(), []
    for i, j in product(range(m), range(n)):
        pairs = ((i * (row or k) + t, j * column + t * (step or n)) for t in range(terms or k))
        y.append(sum(x[a % len(x)] * w[b % len(w)] for a, b in pairs))
    return y


side_effects = failures | {"cells-missing": lambda f: NOTHING in (y := y_of(f)) and {"y": y}}
mistakes = {
    "wrong-order": lambda f: sorted(f.outcome) == sorted(f.right),
    "wrong-row": lambda f: f.outcome in [right(f.case, row=row) for row in (1, f.case.n)],
    "wrong-column": lambda f: f.outcome in [right(f.case, 0, x, 1) for x in (1, f.case.k)],
    "too-few-terms": lambda f: f.outcome in [right(f.case, terms=n) for n in (1, f.case.k - 1)],
    "wrong-cells": lambda f: {"exact": f.right},
}
costs = {"work-not-shared": lambda f: (c := run(f).cost.cycles) > f.case.limit and {"cycles": c}}
hints = """
stops-early: X is {m} x {k}, and W is {k} x {n}. On {lanes} lanes, the program stops: {error}.
    -> Does X have the row of every lane, and W its column? What does a lane without a cell do?
    Arithmetic and logic set the flags again: is every jump next to the one it tests?
cells-missing: X is {m} x {k}, and W is {k} x {n}. Some cells of `y` keep their old number: {y}.
    -> Which lane should store such a cell? Does it reach the STORE, and where does it store?
wrong-order: Your `y` has the right numbers in the wrong order. X is {m} x {k}, and W is {k} x {n}.
    -> The first {n} lanes compute the first row of Y. Which lane starts the second row?
wrong-row: X is {m} x {k}, and W is {k} x {n}. The lanes do not find their rows of X.
    -> Row 0 starts at x[0]. Where does row 1 start, and on which of m, k and n does that depend?
wrong-column: X is {m} x {k}, and W is {k} x {n}. The lanes do not find their columns of W.
    -> W is stored row by row. How far is it from one number of a column to the next?
too-few-terms: For k = {k}, each lane adds up fewer than {k} products.
    -> Count how many times your loop runs. Which instruction decides whether it goes on, and when?
wrong-cells: X is {m} x {k}, and W is {k} x {n}. Your `y` is {found} instead of {exact}.
    -> Choose a wrong cell, write down which numbers its lane should multiply, and trace them.
work-not-shared: Y is right, but the program takes {cycles} cycles. For k = {k}, {limit} are enough.
    -> Does a lane compute cells of other lanes, or wait while another one works?
    see: Many lanes, one control unit
"""
