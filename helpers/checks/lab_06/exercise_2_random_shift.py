"""Lab 06, exercise 2: the check of `random_shift`, and its hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_06.shared import (
    ALL_ALIKE,
    IMAGES,
    expect_chance,
    expect_one_piece,
    lab,
    result_of,
)

NOT_A_SHIFT = Hint(
    "not-a-shift",
    "With `reach` = {reach}, one of the images that come back is not the image moved by at most "
    "that many pixels, with zeros where nothing is left to show.",
    "Try one image that is all ones, and one with a single white pixel: where does it go, and what "
    "comes in at the edge?",
    IMAGES,
)

AROUND_THE_EDGE = Hint(
    "around-the-edge",
    "What leaves an image on one side comes in on the other.",
    "Some ways to move a tensor go round in a circle. What is asked for at the edge?",
    IMAGES,
)

SHIFTS_MISSING = Hint(
    "shifts-missing",
    "With `reach` = {reach}, none of {count} images is ever moved {way} by {missing}.",
    "From -`reach` to `reach`, both included, along both axes: does the upper end belong to what "
    "you draw? Are the two axes drawn apart?",
    IMAGES,
)

TIED_AXES = Hint(
    "tied-axes",
    "Every image moves by the same number of pixels down as to the right.",
    "How many random numbers does an image need?",
    IMAGES,
)


@lab.exercise(2, points=3, right="Each image goes its own way, all of them in one gather.")
def exercise_2(trial: Trial, random_shift: Callable[..., Any]) -> None:
    """`random_shift(images, reach)`: each image moved by up to `reach` pixels, zeros behind it."""
    torch.manual_seed(trial.seed)
    for device, reach in ((trial.device, 1), (torch.device("cpu"), 2), (trial.device, 0)):
        size = trial.random.randint(6, 9)
        images = trial.normal(256, 3, size, size).to(device)
        result = result_of(trial, random_shift, images, reach)
        moves = _moves(images, result, reach)
        if (moves < -99).any():
            around = (_moves(images, result, reach, wrap=True) > -99).all()
            raise AROUND_THE_EDGE.of() if around else NOT_A_SHIFT.of(reach=reach)
        if reach == 0:
            continue
        down, right = moves.unbind(1)
        alike = bool((moves == moves[0]).all())
        trial.expect(not alike, ALL_ALIKE, what=f"every image was moved by {moves[0].tolist()}")
        trial.expect(not torch.equal(down, right), TIED_AXES)
        for ways, found in ((("up", "down"), down), (("left", "right"), right)):
            for missing in sorted(set(range(-reach, reach + 1)) - set(found.tolist())):
                told = {"reach": reach, "count": len(images), "missing": abs(missing)}
                raise SHIFTS_MISSING.of(way=ways[missing > 0], **told)
        expect_chance(trial, random_shift, images, reach)
        expect_one_piece(trial, random_shift, images, reach)


def _moves(
    images: torch.Tensor, result: torch.Tensor, reach: int, *, wrap: bool = False
) -> torch.Tensor:
    """By how many pixels each image was moved down and to the right; -100 for none that fits."""
    images, result = images.cpu(), result.cpu()
    found = torch.full((len(images), 2), -100)
    height, width = images.shape[2:]
    padded = F.pad(images, (reach,) * 4)
    for down in range(-reach, reach + 1):
        for right in range(-reach, reach + 1):
            if wrap:
                moved = images.roll((down, right), (2, 3))
            else:
                top, left = reach - down, reach - right
                moved = padded[:, :, top : top + height, left : left + width]
            fits = (moved == result).flatten(1).all(1)
            found[fits] = torch.tensor([down, right])
    return found
