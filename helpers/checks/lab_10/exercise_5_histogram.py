"""Lab 10, exercise 5: a histogram whose programs may run in any order."""

import torch

from helpers.checks.lab_10 import shared

answers = "histogram(values, bins)"
points = 3
success = "The counts are right, whatever the order of the programs."
section = "Summary"


def cases(draw):
    for _ in range(2):
        bins, n = draw.randint(5, 7), draw.randint(100, 125)
        values = draw.integers(0, bins, (n,), draw.device, torch.int32)
        yield {"values": values, "bins": bins, "n": n, "device": draw.device}


def right(case):
    return torch.bincount(case["values"].values, minlength=case.bins).int()


collect = shared.collector("values", "bins")
side_effects = {
    "zeroing": lambda f: f.race and {"write", "atomic"} <= {*f.race["kinds"]} and f.race
}
mistakes = {
    "padding-counted": lambda f: f.case.n < f.value.values.sum() < 2 * f.case.n,
}
hints = """
zeroing: The programs {programs} use element {element} of `{tensor}`: one stores, others add to it.
    -> Additions that come before the zeros are lost. What can set all counts to 0 before a launch?
padding-counted: There are {n} values, but more were counted.
    -> What does `tl.load` return after the last value? It must not be a number that is counted.
"""
