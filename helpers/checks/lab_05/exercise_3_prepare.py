"""Lab 05, exercise 3: `prepare`."""

import math
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from helpers.checks.descriptions import describe
from helpers.checks.lab_05.shared import lab
from helpers.checks.thread_time import thread_seconds
from helpers.checks.trial import Answer, Trial

MIN_SPEEDUP = 10
# This clock is not affected by other programs, and includes work done in other threads. On Windows,
# its resolution is too low.
_clock = time.perf_counter if sys.platform == "win32" else thread_seconds


def slow_prepare(images: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    """Return the chosen images as float32 from -1 to 1, row by row; given to the student."""
    batch = []
    for index in chosen.tolist():
        image = torch.empty(3, 32, 32)
        for channel in range(3):
            for row in range(32):
                pixels = images[index, channel, row].float()
                image[channel, row] = (pixels / 255 - 0.5) / 0.5
        batch.append(image)
    return torch.stack(batch)


@lab.exercise(
    3, points=3, success_message="The same numbers, and training no longer waits for them."
)
def exercise_3(trial: Trial, prepare: Answer) -> None:
    """`prepare(images, chosen)`: the batch of the slow function, at least 10 times as fast."""
    # Generate eight pixels per random number: this is ten times as fast.
    groups_of_8 = torch.empty(6000 * 3 * 32 * 32 // 8, dtype=torch.int64)
    groups_of_8.random_(-(2**63), None, generator=trial.generator)
    images = groups_of_8.view(torch.uint8).view(6000, 3, 32, 32)
    images[0], images[1] = 0, 255
    # A simulated GPU adds overhead to every torch function, which would make loops look too slow:
    # the slow function and the timed calls bypass it.
    for count in (12, 1):
        indices = trial.integers(0, len(images), (count,))
        indices[-2:] = torch.tensor([1, 0])[-count:]
        source = images[:50].clone() if count == 1 else images
        indices = indices % len(source)
        indices[: count // 4] = indices[count // 2]
        with torch._C.DisableTorchFunction():
            expected = slow_prepare(source, indices)
        before = source[:50].clone()
        result, next_result = trial.observe(_two_batches, prepare, source, indices)
        is_batch = isinstance(result, torch.Tensor) and result.shape == expected.shape
        is_batch = is_batch and result.dtype == torch.float32
        trial.expect(is_batch, "not-a-batch", found=describe(result), shape=tuple(expected.shape))
        trial.expect(torch.equal(source[:50], before), "input-changed")
        if not torch.allclose(result, expected, atol=1e-5):
            low, high = result.min().item(), result.max().item()
            right_range = math.isclose(low, -1, abs_tol=1e-3) and high < 1.001
            trial.expect(not right_range, "different-images")
            raise trial.wrong("different-numbers", low=low, high=high)
        same_shape = isinstance(next_result, torch.Tensor) and next_result.shape == expected.shape
        next_expected = (source[_next(indices, source)].float() / 255 - 0.5) / 0.5
        fresh = same_shape and torch.allclose(next_result, next_expected, atol=1e-5)
        trial.expect(fresh, "stale-batch")
    ratios = []
    for _ in range(3):
        # Different images in each round, so that cached results do not help.
        images = images.roll(trial.random.randint(1, 999), 0)
        indices = trial.integers(0, len(images), (32,))
        student_seconds, batch = trial.observe(
            _timed_call, prepare, images.clone(), indices.clone()
        )
        with torch._C.DisableTorchFunction():
            slow_seconds, expected = _timed(slow_prepare, images, indices)
            same_shape = isinstance(batch, torch.Tensor) and batch.shape == expected.shape
            trial.expect(same_shape and torch.allclose(batch, expected, atol=1e-5), "stale-batch")
        ratios.append(slow_seconds / student_seconds)
    ratio = statistics.median(ratios)
    details = {"found": ratio, "rounds": len(ratios), "wanted": MIN_SPEEDUP}
    trial.expect(ratio >= MIN_SPEEDUP, "not-faster", **details)


def _two_batches(
    trial: Trial, prepare: Answer, images: torch.Tensor, indices: torch.Tensor
) -> tuple[Any, Any]:
    """Return the batches of two calls with the same images but different indices."""
    batch = trial.result_of(prepare, images, indices)
    return batch, trial.result_of(prepare, images, _next(indices, images))


def _next(indices: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
    return (indices + 1) % len(images)


def _timed_call(
    trial: Trial, prepare: Answer, images: torch.Tensor, indices: torch.Tensor
) -> tuple[float, Any]:
    with torch._C.DisableTorchFunction():
        return _timed(trial.call, prepare, images, indices)


def _timed(function: Callable[..., Any], *args: Any) -> tuple[float, Any]:
    """Return the duration of a call in seconds, and its result."""
    start = _clock()
    result = function(*args)
    return max(_clock() - start, 1e-6), result
