"""Lab 06, exercise 1: `random_flip`."""

import torch

from helpers.checks.lab_06.shared import augmented, expect_chance, expect_one_piece, lab
from helpers.checks.trial import Answer, Trial


@lab.exercise(1, points=2, right="Each image has a toss of its own, and the batch is one piece.")
def exercise_1(trial: Trial, random_flip: Answer) -> None:
    """`random_flip(images)`: each image mirrored from left to right, or not, by chance."""
    torch.manual_seed(trial.seed)
    for device in (trial.device, torch.device("cpu")):
        size = trial.random.randint(5, 9)
        images = trial.normal(128, 3, size, size + 1).to(device)
        result = augmented(trial, random_flip, images)
        kept = (result == images).flatten(1).all(1)
        mirrored = (result == images.flip(3)).flatten(1).all(1)
        trial.expect((kept | mirrored).all().item(), "not-a-mirror")
        count = int(mirrored.sum())
        told = "every image was mirrored" if count else "no image was mirrored"
        again = int((trial.call(random_flip, images) != images).flatten(1).any(1).sum())
        trial.expect(not {count, again} <= {0, 128}, "all-alike", what=told)
        for each in (count, again):
            trial.expect(34 <= each <= 94, "wrong-share", count=128, mirrored=each)
        expect_chance(trial, random_flip, images)
        expect_one_piece(trial, random_flip, images)
