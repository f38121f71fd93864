"""Lab 00, exercise 3: a program whose lanes each store a part of the sum of x[i] * w[i]."""

from helpers.checks.lab_00.shared import NOTHING, a_program, failures, run

answers = "dot_product()"
points = 4
success = "Every lane does its share, for any number of lanes."
section = "Many lanes, one control unit"
returns = a_program


def cases(draw):
    for lanes, n in ((8, 19), (4, 16), (2, 7), (4, 3), (1, 5)):
        x, w = ([draw.randint(2, 20) for _ in range(n)] for _ in "xw")
        data = {"x": x, "w": w, "n": n, "part": [NOTHING] * lanes}
        exact = sum(a * b for a, b in zip(x, w, strict=True))
        yield {"data": data, "lanes": lanes, "n": n, "exact": exact, "share": -(-n // lanes)}


def parts(f):
    return run(f, f.case.lanes)["part"]


def unequal(f):
    """Return the values of the hint if a lane takes much longer than for an equal share."""
    alone = run(f, 1, **{**f.case.data, "n": f.case.share, "part": [NOTHING]}).cost.cycles
    cycles = run(f, f.case.lanes).cost.cycles
    return cycles > 1.25 * alone and {"cycles": cycles, "alone": alone}


def outcome(f):
    return sum(parts(f))


def right(case):
    return case.exact


side_effects = failures | {
    "every-lane-does-all": lambda f: f.case.lanes > 1 and {*parts(f)} == {f.right},
    "one-part": lambda f: parts(f).count(NOTHING) == f.case.lanes - 1 > 0 and {"parts": parts(f)},
    "parts-missing": lambda f: NOTHING in parts(f) and {"parts": parts(f)},
}
mistakes = {"wrong-sum": lambda f: {"parts": parts(f)}}
costs = {"work-not-shared": unequal}
hints = """
every-lane-does-all: On {lanes} lanes, every lane computes the whole sum, {exact}.
    -> All lanes execute the same instructions. Which register differs between lanes, and how can it
    choose the numbers a lane works on?
one-part: On {lanes} lanes, only one of them stores its part: {parts}.
    -> If all lanes store to the same cell, only the last counts. Which cell belongs to which lane?
parts-missing: On {lanes} lanes with n = {n}, some lanes store nothing: {parts}.
    -> A lane without numbers to work on stores a part of 0. Does it reach the STORE?
wrong-sum: On {lanes} lanes with n = {n}, the parts {parts} sum to {found} instead of {exact}.
    -> Write down which indices each lane works on, and trace its sum. Does every index from 0 to
    n - 1 appear exactly once, for any number of lanes?
work-not-shared: The sum is right, but on {lanes} lanes with n = {n}, the program takes {cycles}
    cycles. One lane takes {alone} for an equal share, which is n = {share}.
    -> Lanes save time only if all work in each step. Do some lanes wait while another works on?
"""
