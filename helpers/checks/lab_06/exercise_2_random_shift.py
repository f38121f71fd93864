"""Lab 06, exercise 2: `random_shift`."""

import torch
from torch.nn import functional as F

from helpers.checks.lab_06.shared import (
    call_augmentation,
    expect_batch_operations,
    expect_random,
    lab,
)
from helpers.checks.trial import Answer, Trial
from helpers.language import translate

_COUNT = 4096


@lab.exercise(
    2, points=3, success_message="Each image has its own random shift, in one gather for the batch."
)
def exercise_2(trial: Trial, random_shift: Answer) -> None:
    """`random_shift(images, max_shift)`: each image shifted by up to `max_shift` pixels."""
    torch.manual_seed(trial.seed)
    for device, max_shift in ((trial.device, 1), (torch.device("cpu"), 2), (trial.device, 0)):
        size = trial.random.randint(6, 9)
        images = trial.normal(_COUNT, 3, size, size).to(device)
        result = call_augmentation(trial, random_shift, images, max_shift)
        shifts = _find_shifts(images, result, max_shift)
        if (shifts < -99).any():
            wrapped = (_find_shifts(images, result, max_shift, wrap=True) > -99).all()
            trial.expect(not wrapped, "wraps-around")
            raise trial.wrong("not-a-shift", max_shift=max_shift)
        if max_shift == 0:
            continue
        down, right = shifts.unbind(1)
        all_equal = bool((shifts == shifts[0]).all())
        shift_text = translate("every image was moved by {shift}", shift=shifts[0].tolist())
        trial.expect(not all_equal, "same-for-all-images", what=shift_text)
        trial.expect(not torch.equal(down, right), "same-shift-on-both-axes")
        _check_uniform(trial, down.tolist(), max_shift, dim=2)
        _check_uniform(trial, right.tolist(), max_shift, dim=3)
        expect_random(trial, random_shift, images, max_shift)
        expect_batch_operations(trial, random_shift, images, max_shift)


def _check_uniform(trial: Trial, shifts: list[int], max_shift: int, *, dim: int) -> None:
    """Require that every shift along a dimension is equally likely."""
    all_shifts = range(-max_shift, max_shift + 1)
    details = {"max_shift": max_shift, "count": _COUNT, "dim": dim}
    for shift in all_shifts:
        trial.expect(shift in shifts, "shifts-missing", shift=shift, **details)
    expected = _COUNT / len(all_shifts)
    # More than 6 standard deviations, so that no right answer is rejected by chance.
    max_difference = 6.2 * (expected * (1 - expected / _COUNT)) ** 0.5
    for shift in all_shifts:
        details |= {"shift": shift, "found": shifts.count(shift), "expected": round(expected)}
        trial.expect(
            abs(shifts.count(shift) - expected) <= max_difference, "uneven-shifts", **details
        )


def _find_shifts(
    images: torch.Tensor, result: torch.Tensor, max_shift: int, *, wrap: bool = False
) -> torch.Tensor:
    """Return how many pixels down and right each image was shifted; -100 if no shift matches."""
    images, result = images.cpu(), result.cpu()
    shifts = torch.full((len(images), 2), -100)
    height, width = images.shape[2:]
    padded = F.pad(images, (max_shift,) * 4)
    for down in range(-max_shift, max_shift + 1):
        for right in range(-max_shift, max_shift + 1):
            if wrap:
                shifted = images.roll((down, right), (2, 3))
            else:
                top, left = max_shift - down, max_shift - right
                shifted = padded[:, :, top : top + height, left : left + width]
            fits = (shifted == result).flatten(1).all(1)
            shifts[fits] = torch.tensor([down, right])
    return shifts
