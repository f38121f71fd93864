"""Lab 06, exercise 2: each image shifted by up to `max_shift` pixels."""

import torch
from torch.nn import functional as F

from helpers.checks.lab_06 import shared
from helpers.language import translate

answers = "random_shift(images, max_shift)"
points = 3
success = "Each image has its own random shift, in one gather for the batch."
section = "Images that never leave the device"
collect, returns, costs = shared.collect, shared.returns, shared.costs

COUNT = 4096


def cases(draw):
    for device, max_shift in ((draw.device, 1), ("cpu", 2)):
        size = draw.randint(6, 9)
        case = shared.make_case(draw, draw.normal(COUNT, 3, size, size, device=device), max_shift)
        yield {**case, "max_shift": max_shift, "size": size, "calls": 2}


def find_shifts(f, mode="constant"):
    """Return how many pixels down and right each image was shifted; None if no shift matches."""
    n, size = f.case.max_shift, f.case.size
    windows = F.pad(f.case.images.values, (n,) * 4, mode).unfold(2, size, 1).unfold(3, size, 1)
    matches = (windows == f.value.values[:, :, None, None]).all(dim=(1, 4, 5)).flatten(1)
    index = matches.int().argmax(1)
    shifts = n - torch.stack([index // (2 * n + 1), index % (2 * n + 1)])
    return shifts if matches.any(1).all() else None


def all_equal(f):
    shifts = find_shifts(f)
    what = translate("every image was moved by {shift}", shift=shifts[:, 0].tolist())
    return (shifts == shifts[:, :1]).all() and {"what": what}


def uneven(f):
    """Return the values of the hint for a shift that is more or less likely than the others."""
    n = f.case.max_shift
    expected = COUNT / (2 * n + 1)
    # More than 6 standard deviations, so that no right answer is rejected by chance.
    limit = 6.2 * (expected * (1 - expected / COUNT)) ** 0.5
    counts = [
        {"found": int((shifts == shift).sum()), "dim": dim, "shift": shift}
        for dim, shifts in enumerate(find_shifts(f), start=2)
        for shift in range(-n, n + 1)
    ]
    worst = max(counts, key=lambda count: abs(count["found"] - expected))
    return abs(worst["found"] - expected) > limit and {**worst, "expected": round(expected)}


side_effects = shared.side_effects | {
    "wraps-around": lambda f: find_shifts(f) is None and find_shifts(f, "circular") is not None,
    "not-a-shift": lambda f: find_shifts(f) is None,
    "same-for-all-images": all_equal,
    "same-shift-on-both-axes": lambda f: torch.equal(*find_shifts(f)),
    "uneven-shifts": uneven,
}
hints = """
not-a-shift: With `max_shift` = {max_shift}, one of the returned images is not the original shifted
    by at most that many pixels with zeros at the edge.
    -> Try an image of ones, and an image with a single white pixel: where does it go, and what
    appears at the edge?
wraps-around: Pixels that leave an image on one side come back on the other side.
    -> Some ways to shift a tensor wrap around. What should appear at the edge instead?
uneven-shifts: With `max_shift` = {max_shift}, {found} of {count} images are shifted by {shift}
    along dimension {dim}, but each shift should be equally likely, for about {expected} images.
    -> Count how often each number appears among 10,000 of those you draw. Rounding makes the
    numbers at both ends less likely, for example.
same-shift-on-both-axes: Every image moves down by the same number of pixels as to the right.
    -> How many random numbers does an image need?
"""
