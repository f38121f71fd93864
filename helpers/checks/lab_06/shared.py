"""The `Lab` of lab 06 and its hints, and shared checks of augmentation."""

from pathlib import Path
from typing import Any

import torch

from helpers.checks.descriptions import describe
from helpers.checks.hints import read_hints
from helpers.checks.lab import Lab
from helpers.checks.trial import Answer, Trial
from helpers.language import translate

lab = Lab("06_cifar10_in_seconds", read_hints(Path(__file__).parent), seconds=20)


def call_augmentation(
    trial: Trial, function: Answer, images: torch.Tensor, *others: Any
) -> torch.Tensor:
    """Return the result of the student's function, after checking all but its pixel values."""
    before = images.clone()
    with trial.watch() as watch:
        result = trial.result_of(function, images, *others)
    name = trial.name
    trial.expect(torch.equal(images, before), "input-changed")
    is_images = isinstance(result, torch.Tensor) and result.shape == images.shape
    is_images = is_images and result.dtype == images.dtype
    expected = translate("{dtype} and shape {shape}", dtype=images.dtype, shape=tuple(images.shape))
    trial.expect(is_images, "not-images", name=name, found=describe(result), given=expected)
    same_device = result.device == images.device
    trial.expect(same_device, "elsewhere", name=name, given=images.device, found=result.device)
    copied_bytes = sum(move.bytes for move in watch.moves)
    trial.expect(not copied_bytes, "copied", bytes=copied_bytes)
    return result


def expect_random(trial: Trial, function: Answer, images: torch.Tensor, *others: Any) -> None:
    """Require that two calls give different results."""
    results = []
    for _ in range(2):
        torch.manual_seed(trial.random.randrange(1 << 30))
        results.append(trial.call(function, images, *others))
    trial.expect(not torch.equal(*results), "not-random")


def expect_batch_operations(
    trial: Trial, function: Answer, images: torch.Tensor, *others: Any
) -> None:
    """Require that the number of operations does not grow with the number of images."""
    counts = []
    for part in (images[:16], images):
        with trial.watch() as watch:
            trial.call(function, part, *others)
        counts.append(watch.calls)
    details = {"small": 16, "few": counts[0], "large": len(images), "many": counts[1]}
    trial.expect(counts[1] < 2 * counts[0], "one-by-one", **details)
