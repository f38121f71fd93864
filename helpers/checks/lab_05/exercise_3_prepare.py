"""Lab 05, exercise 3: the check of `prepare`, and its hints."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_05.shared import lab

_PIPELINE = "The input pipeline"

NOT_A_BATCH = Hint(
    "not-a-batch",
    "`prepare` returns {found}; a float32 tensor of shape {shape} is asked for.",
    "The result is what the slow function returns. Compare the two on a few images.",
    _PIPELINE,
)

OTHER_IMAGES = Hint(
    "other-images",
    "The batch does not hold the chosen images in the order in which they were chosen.",
    "`chosen` names the same image twice now and then, and in no order. What does indexing with a "
    "tensor of numbers give?",
    _PIPELINE,
)

OTHER_NUMBERS = Hint(
    "other-numbers",
    "The numbers of the batch go from {low:.3g} to {high:.3g}; those of the slow function go from "
    "-1 to 1.",
    "Print both batches for an image that is all 0 and for one that is all 255. What becomes of a "
    "byte that is divided, or from which something is taken away?",
    _PIPELINE,
)

IMAGES_CHANGED = Hint(
    "input-changed",
    "After the call, the images that were handed in are others.",
    "Methods whose name ends in an underscore write into the tensor they are called on.",
    _PIPELINE,
)

NOT_FASTER = Hint(
    "not-faster",
    "In this session your `prepare` is {found:.1f} times as fast as the slow one, in the median of "
    "{rounds} rounds by turns; {wanted} times is asked for.",
    "What is done once for each row, and could be done once for all of them? Does anything touch "
    "images that nobody has chosen, or make Python numbers of pixels?",
    _PIPELINE,
)

AT_LEAST = 10


def slow_prepare(images: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    """What the student is given: float32 images of `chosen`, from -1 to 1, row by row."""
    batch = []
    for index in chosen.tolist():
        image = torch.empty(3, 32, 32)
        for colour in range(3):
            for row in range(32):
                pixels = images[index, colour, row].float()
                image[colour, row] = (pixels / 255 - 0.5) / 0.5
        batch.append(image)
    return torch.stack(batch)


@lab.exercise(3, points=3, right="The same numbers, and the loop no longer waits for them.")
def exercise_3(trial: Trial, prepare: Callable[..., Any]) -> None:
    """`prepare(images, chosen)`: the batch of the slow function, at least 10 times as fast."""
    images = torch.empty(6000, 3, 32, 32, dtype=torch.uint8)
    images.random_(0, 256, generator=trial.generator)
    images[0], images[1] = 0, 255
    # Where a GPU is simulated, something stands between torch and the CPU and has a price for each
    # operation. The slow function goes without, and so does what is timed: a loop would look slower
    # than it is.
    for count in (12, 1):
        chosen = trial.integers(0, len(images), (count,))
        chosen[-2:] = torch.tensor([1, 0])[-count:]
        few = images[:50].clone() if count == 1 else images
        chosen = chosen % len(few)
        chosen[: count // 4] = chosen[count // 2]
        with torch._C.DisableTorchFunction():
            expected = slow_prepare(few, chosen)
        first = few[:50].clone()
        found = trial.call(prepare, few, chosen)
        trial.expect_result(found)
        tensor = isinstance(found, torch.Tensor)
        shown = f"a {type(found).__name__}"
        shown = f"{found.dtype} of shape {tuple(found.shape)}" if tensor else shown
        good = tensor and found.shape == expected.shape and found.dtype == torch.float32
        trial.expect(good, NOT_A_BATCH, found=shown, shape=tuple(expected.shape))
        trial.expect(torch.equal(few[:50], first), IMAGES_CHANGED)
        if not torch.allclose(found, expected, atol=1e-5):
            low, high = found.min().item(), found.max().item()
            whole = math.isclose(low, -1, abs_tol=1e-3) and high < 1.001
            raise OTHER_IMAGES.of() if whole else OTHER_NUMBERS.of(low=low, high=high)
    ratios = []
    for _ in range(3):
        chosen = trial.integers(0, len(images), (32,))
        with torch._C.DisableTorchFunction():
            own = _seconds_of(lambda chosen=chosen: trial.call(prepare, images, chosen))
            slow = _seconds_of(lambda chosen=chosen: slow_prepare(images, chosen))
        ratios.append(slow / own)
    found = statistics.median(ratios)
    told = {"found": found, "rounds": len(ratios), "wanted": AT_LEAST}
    trial.expect(found >= AT_LEAST, NOT_FASTER, **told)


def _seconds_of(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
