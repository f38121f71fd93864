"""Lab 06, CIFAR-10 in seconds: what its exercises have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from helpers.checks.core import Hint, Lab, Trial

IMAGES = "Images that never leave the device"
REST = "The rest of the recipe"
TRAIN = "Train"

NOT_IMAGES = Hint(
    "not-images",
    "`{name}` returns {found}; images of {given} are asked for.",
    "Type, shape and order of the axes stay as they are: images, colours, rows, columns.",
    IMAGES,
)

ELSEWHERE = Hint(
    "elsewhere",
    "The images are on {given}, and what `{name}` returns is on {found}.",
    "A batch on the GPU is to stay there. Where does your code learn on which device to work?",
    IMAGES,
)

CARRIED = Hint(
    "carried",
    "Your function carries {bytes} bytes between devices.",
    "Random numbers can be drawn where they are needed. Which call draws them, and where?",
    IMAGES,
)

INPUT_CHANGED = Hint(
    "input-changed",
    "After the call, the images that were handed in are others.",
    "The next epoch needs them as they were. Which line writes into them?",
    IMAGES,
)

ONE_BY_ONE = Hint(
    "one-by-one",
    "For {small} images your function asks torch for {few} operations, and for {large} images for "
    "{many}.",
    "Each request has its price on a GPU. Where does your code go through the images one by one?",
    IMAGES,
)

ALL_ALIKE = Hint(
    "all-alike",
    "In one batch {what}: all images are treated alike.",
    "One toss of the coin a batch is not one toss an image. How many random numbers do you draw?",
    IMAGES,
)

NO_CHANCE = Hint(
    "no-chance",
    "Two calls with the same images give the same result.",
    "Each epoch is to bring something new. Where does your code fix its random numbers?",
    IMAGES,
)

lab = Lab("06_cifar10_in_seconds", seconds=20)


class CountedCalls(TorchFunctionMode):
    """Counts the operations of a block."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Run one operation and count it."""
        self.count += 1
        return func(*args, **(kwargs or {}))


def result_of(
    trial: Trial, function: Callable[..., Any], images: torch.Tensor, *others: Any
) -> torch.Tensor:
    """What the student's function makes of the images; everything but the pixels is judged."""
    before = images.clone()
    with trial.watch() as watch:
        result = trial.call(function, images, *others)
    trial.expect_result(result)
    name = trial.name
    trial.expect(torch.equal(images, before), INPUT_CHANGED)
    tensor = isinstance(result, torch.Tensor)
    good = tensor and result.shape == images.shape and result.dtype == images.dtype
    found = f"a {type(result).__name__}"
    found = f"{result.dtype} of shape {tuple(result.shape)}" if tensor else found
    given = f"{images.dtype} and shape {tuple(images.shape)}"
    trial.expect(good, NOT_IMAGES, name=name, found=found, given=given)
    there = result.device == images.device
    trial.expect(there, ELSEWHERE, name=name, given=images.device, found=result.device)
    carried = sum(move.bytes for move in watch.moves)
    trial.expect(not carried, CARRIED, bytes=carried)
    return result


def expect_chance(
    trial: Trial, function: Callable[..., Any], images: torch.Tensor, *others: Any
) -> None:
    """Other results from other calls, though a call leaves the random numbers as they were."""
    results = []
    for _ in range(2):
        torch.manual_seed(trial.random.randrange(1 << 30))
        results.append(trial.call(function, images, *others))
    trial.expect(not torch.equal(*results), NO_CHANCE)


def expect_one_piece(
    trial: Trial, function: Callable[..., Any], images: torch.Tensor, *others: Any
) -> None:
    """About as many operations for many images as for few."""
    counts = []
    for part in (images[:16], images):
        with CountedCalls() as calls:
            trial.call(function, part, *others)
        counts.append(calls.count)
    told = {"small": 16, "few": counts[0], "large": len(images), "many": counts[1]}
    trial.expect(counts[1] < 2 * counts[0], ONE_BY_ONE, **told)
