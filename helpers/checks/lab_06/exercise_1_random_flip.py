"""Lab 06, exercise 1: the check of `random_flip`, and its hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_06.shared import (
    ALL_ALIKE,
    IMAGES,
    expect_chance,
    expect_one_piece,
    lab,
    result_of,
)

NOT_A_MIRROR = Hint(
    "not-a-mirror",
    "One of the images that come back is neither as it was nor its mirror image from left to "
    "right.",
    "Of the four axes, along which one do left and right lie? Try one image with one white pixel.",
    IMAGES,
)

WRONG_SHARE = Hint(
    "wrong-share",
    "Of {count} images, {mirrored} were mirrored; half of them should be, more or less.",
    "Draw as many random numbers as there are images, and look at the share of those that say yes.",
    IMAGES,
)


@lab.exercise(1, points=2, right="Each image has a toss of its own, and the batch is one piece.")
def exercise_1(trial: Trial, random_flip: Callable[..., Any]) -> None:
    """`random_flip(images)`: each image mirrored from left to right, or not, by chance."""
    torch.manual_seed(trial.seed)
    for device in (trial.device, torch.device("cpu")):
        size = trial.random.randint(5, 9)
        images = trial.normal(128, 3, size, size + 1).to(device)
        result = result_of(trial, random_flip, images)
        kept = (result == images).flatten(1).all(1)
        mirrored = (result == images.flip(3)).flatten(1).all(1)
        trial.expect((kept | mirrored).all().item(), NOT_A_MIRROR)
        count = int(mirrored.sum())
        told = "every image was mirrored" if count else "no image was mirrored"
        again = int((trial.call(random_flip, images) != images).flatten(1).any(1).sum())
        trial.expect(not {count, again} <= {0, 128}, ALL_ALIKE, what=told)
        for each in (count, again):
            trial.expect(34 <= each <= 94, WRONG_SHARE, count=128, mirrored=each)
        expect_chance(trial, random_flip, images)
        expect_one_piece(trial, random_flip, images)
