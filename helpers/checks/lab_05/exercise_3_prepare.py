"""Lab 05, exercise 3: `prepare`."""

import math
import statistics
import time
from collections.abc import Callable

import torch

from helpers.checks.lab_05.shared import lab
from helpers.checks.trial import Answer, Trial, described

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
def exercise_3(trial: Trial, prepare: Answer) -> None:
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
        found = trial.result_of(prepare, few, chosen)
        tensor = isinstance(found, torch.Tensor)
        shown = described(found)
        shown = f"{found.dtype} of shape {tuple(found.shape)}" if tensor else shown
        good = tensor and found.shape == expected.shape and found.dtype == torch.float32
        trial.expect(good, "not-a-batch", found=shown, shape=tuple(expected.shape))
        trial.expect(torch.equal(few[:50], first), "input-changed")
        if not torch.allclose(found, expected, atol=1e-5):
            low, high = found.min().item(), found.max().item()
            whole = math.isclose(low, -1, abs_tol=1e-3) and high < 1.001
            raise (
                trial.wrong("other-images")
                if whole
                else trial.wrong("other-numbers", low=low, high=high)
            )
    ratios = []
    for _ in range(3):
        chosen = trial.integers(0, len(images), (32,))
        with torch._C.DisableTorchFunction():
            own = _seconds_of(lambda chosen=chosen: trial.call(prepare, images, chosen))
            slow = _seconds_of(lambda chosen=chosen: slow_prepare(images, chosen))
        ratios.append(slow / own)
    found = statistics.median(ratios)
    told = {"found": found, "rounds": len(ratios), "wanted": AT_LEAST}
    trial.expect(found >= AT_LEAST, "not-faster", **told)


def _seconds_of(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
