"""Lab 06, exercise 2: each image shifted by up to `max_shift` pixels."""

import torch
from torch.nn import functional as F

from helpers.checks.lab_06 import shared
from helpers.checks.lab_06.shared import augment, make_images
from helpers.checks.plain import first
from helpers.language import translate

answers = "random_shift(images, max_shift)"
points = 3
success = "Each image has its own random shift, in one gather for the batch."
section = "Images that never leave the device"
collect = augment

COUNT = 4096


def cases(draw):
    for device, max_shift in ((draw.device, 1), ("cpu", 2), (draw.device, 0)):
        size = draw.randint(6, 9)
        case = {"device": device, "max_shift": max_shift, "others": (max_shift,), "count": COUNT}
        yield {**case, "shape": (COUNT, 3, size, size), "seed": draw.randrange(2**31)}


def find_shifts(f, *, wrap=False):
    """Return how many pixels down and right each image was shifted; None if no shift matches."""
    images, n, size = make_images(f.case), f.case.max_shift, f.case.shape[2]
    shifts, padded = torch.full((COUNT, 2), -100), F.pad(images, (n,) * 4)
    for down in range(-n, n + 1):
        for right in range(-n, n + 1):
            shifted = (
                images.roll((down, right), (2, 3))
                if wrap
                else padded[:, :, n - down : n - down + size, n - right : n - right + size]
            )
            shifts[(shifted == f.value.values).flatten(1).all(1)] = torch.tensor([down, right])
    return shifts if (shifts > -100).all() else None


def all_equal(f):
    shifts = find_shifts(f).tolist()
    what = translate("every image was moved by {shift}", shift=shifts[0])
    return f.case.max_shift and all(shift == shifts[0] for shift in shifts) and {"what": what}


def uneven(f):
    """Return the values of the hint for a shift that is more or less likely than the others."""
    n = f.case.max_shift
    expected = COUNT / (2 * n + 1)
    # More than 6 standard deviations, so that no right answer is rejected by chance.
    limit = 6.2 * (expected * (1 - expected / COUNT)) ** 0.5
    counts = {
        (dim, shift): int((find_shifts(f)[:, dim - 2] == shift).sum())
        for dim in (2, 3)
        for shift in range(-n, n + 1)
    }
    return first(
        abs(found - expected) > limit
        and {"dim": dim, "shift": shift, "found": found, "expected": round(expected)}
        for (dim, shift), found in sorted(counts.items(), key=lambda item: item[1])
    )


side_effects = shared.side_effects | {
    "wraps-around": lambda f: find_shifts(f) is None and find_shifts(f, wrap=True) is not None,
    "not-a-shift": lambda f: find_shifts(f) is None,
    "same-for-all-images": all_equal,
    "same-shift-on-both-axes": lambda f: (
        f.case.max_shift and torch.equal(*find_shifts(f).unbind(1))
    ),
    "shifts-missing": lambda f: (values := uneven(f)) and values["found"] == 0 and values,
    "uneven-shifts": uneven,
}
costs = {id: lambda f, row=row: f.case.max_shift and row(f) for id, row in shared.costs.items()}
hints = """
not-a-shift: With `max_shift` = {max_shift}, one of the returned images is not the original shifted
    by at most that many pixels with zeros at the edge.
    -> Try an image of ones, and an image with a single white pixel: where does it go, and what
    appears at the edge?
wraps-around: Pixels that leave an image on one side come back on the other side.
    -> Some ways to shift a tensor wrap around. What should appear at the edge instead?
shifts-missing: With `max_shift` = {max_shift}, none of {count} images is shifted by {shift} along
    dimension {dim}.
    -> Both ends, -`max_shift` and `max_shift`, are possible along both axes. Does your range
    include its upper end? Do you draw the two axes separately?
uneven-shifts: With `max_shift` = {max_shift}, {found} of {count} images are shifted by {shift}
    along dimension {dim}, but each shift should be equally likely, for about {expected} images.
    -> Count how often each number appears among 10,000 of those you draw. Rounding makes the
    numbers at both ends less likely, for example.
same-shift-on-both-axes: Every image moves down by the same number of pixels as to the right.
    -> How many random numbers does an image need?
"""
