"""Lab 06, exercise 1: `random_flip`."""

import torch

from helpers.checks.lab_06.shared import (
    call_augmentation,
    expect_batch_operations,
    expect_random,
    lab,
)
from helpers.checks.trial import Answer, Trial
from helpers.language import translate

_COUNT = 2048


@lab.exercise(
    1,
    points=2,
    success_message="Each image is flipped independently, in one operation for the batch.",
)
def exercise_1(trial: Trial, random_flip: Answer) -> None:
    """`random_flip(images)`: each image mirrored horizontally with probability 1/2."""
    torch.manual_seed(trial.seed)
    counts = []
    for device in (trial.device, torch.device("cpu")):
        size = trial.random.randint(5, 9)
        images = trial.normal(_COUNT, 3, size, size + 1).to(device)
        result = call_augmentation(trial, random_flip, images)
        unchanged = (result == images).flatten(1).all(1)
        mirrored = (result == images.flip(3)).flatten(1).all(1)
        trial.expect((unchanged | mirrored).all().item(), "not-a-mirror")
        count = int(mirrored.sum())
        count_text = translate("no image was mirrored")
        if count:
            count_text = translate("every image was mirrored")
        second_count = int((trial.call(random_flip, images) != images).flatten(1).any(1).sum())
        trial.expect(
            not {count, second_count} <= {0, _COUNT}, "same-for-all-images", what=count_text
        )
        counts += [count, second_count]
        for num_mirrored in (count, second_count):
            # The standard deviation of this count is 23: 150 is more than 6 standard deviations.
            near_half = abs(num_mirrored - _COUNT / 2) <= 150
            trial.expect(near_half, "wrong-fraction", count=_COUNT, mirrored=num_mirrored)
        expect_random(trial, random_flip, images)
        expect_batch_operations(trial, random_flip, images)
    # With independent draws, exactly half of the images every time happens in 1 of 10 million runs.
    trial.expect(set(counts) != {_COUNT // 2}, "always-half", calls=len(counts), count=_COUNT)
