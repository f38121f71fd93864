"""Lab 06, exercise 2: each image shifted by up to `max_shift` pixels."""

import torch
from torch.nn import functional as F

from helpers.checks.lab_06 import shared

answers = "random_shift(images, max_shift)"
points = 3
success = "Each image has its own random shift, in one gather for the batch."
section = "Images that never leave the device"
collect, costs = shared.collect, shared.costs
questions, returns = shared.questions, shared.returns


def cases(draw):
    for device, max_shift in ((draw.device, 1), ("cpu", 2)):
        size = draw.randint(6, 9)
        images = draw.normal(4096, 3, size, size + 3 - 2 * max_shift, device=device)
        yield {**shared.make_case(draw, images, max_shift), "max_shift": max_shift, "calls": 2}


def find_shifts(f):
    """Return how many pixels down and right each image was shifted; None if no shift matches."""
    n, (*_, height, width) = f.case.max_shift, f.case.images.shape
    windows = F.pad(f.case.images.values, (n,) * 4).unfold(2, height, 1).unfold(3, width, 1)
    matches = (windows == f.value.values[:, :, None, None]).all(dim=(1, 4, 5)).flatten(1)
    index = matches.int().argmax(1)
    shifts = n - torch.stack([index // (2 * n + 1), index % (2 * n + 1)])
    return shifts if matches.any(1).all() else None


def uneven(f):
    """Return the values of the hint for a shift that is more or less likely than the others."""
    n = f.case.max_shift
    expected = f.case.count / (2 * n + 1)
    counts = torch.stack([(shifts + n).bincount(minlength=2 * n + 1) for shifts in find_shifts(f)])
    dim, i = divmod((counts - expected).abs().argmax().item(), 2 * n + 1)
    found = counts[dim, i].item()
    # More than 6 standard deviations, so that no right answer is rejected by chance.
    limit = 6.2 * (expected * (1 - expected / f.case.count)) ** 0.5
    values = {"dim": dim + 2, "shift": i - n, "found": found, "expected": round(expected)}
    return abs(found - expected) > limit and values


side_effects = {
    "not-a-shift": lambda f: find_shifts(f) is None,
    "uneven-shifts": uneven,
    "same-shift-on-both-axes": lambda f: torch.equal(*find_shifts(f).abs()),
}
hints = """
not-a-shift: With `max_shift` = {max_shift}, one of the returned images is not the original shifted
    by at most that many pixels with zeros at the edge.
    -> Try an image of ones, and one with one white pixel: where does it go, what is at the edge?
uneven-shifts: With `max_shift` = {max_shift}, {found} of {count} images are shifted by {shift}
    along dimension {dim}, but each shift should be equally likely, for about {expected} images.
    -> Count how often each number appears among 10,000 of those you draw. Rounding makes the
    numbers at both ends less likely, for example.
same-shift-on-both-axes: Every image moves down by the same number of pixels as to the right.
    -> How many random numbers does an image need?
"""
