"""Lab 10, exercise 5: a histogram whose programs may run in any order."""

import torch

from helpers.checks.plain import first

answers = "histogram(values, bins)"
points = 3
success = "The counts are right, whatever the order of the programs."
section = "A race"


def cases(draw):
    bins, n = draw.randint(5, 7), draw.randint(100, 125)
    values = draw.integers(0, bins, (n,), draw.device, torch.int32)
    yield {"values": values, "bins": bins, "device": draw.device, "bytes": 50 * n, "fill": 0}


def right(case):
    return torch.bincount(case["values"].values, minlength=case.bins).int()


side_effects = {
    "zeroing": lambda f: first({"write", "atomic"} <= {*race["kinds"]} and race for race in f.races)
}
hints = """
race: Element {element} of `{tensor}` is used by programs {programs}, not only atomically.
    -> Two may read the same count before one writes it. What reads, adds and writes in one step?
zeroing: Element {element} of `{tensor}` is set and added to by programs {programs}.
    -> Additions that come before the zeros are lost. What can set all counts to 0 before a launch?
"""
