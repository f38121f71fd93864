"""Lab 06, exercise 2: `random_shift`."""

import torch
from torch.nn import functional as F

from helpers.checks.lab_06.shared import augmented, expect_chance, expect_one_piece, lab
from helpers.checks.trial import Answer, Trial
from helpers.language import translate

_COUNT = 4096


@lab.exercise(2, points=3, right="Each image moves by its own shift, all in one gather.")
def exercise_2(trial: Trial, random_shift: Answer) -> None:
    """`random_shift(images, reach)`: each image shifted by up to `reach` pixels."""
    torch.manual_seed(trial.seed)
    for device, reach in ((trial.device, 1), (torch.device("cpu"), 2), (trial.device, 0)):
        size = trial.random.randint(6, 9)
        images = trial.normal(_COUNT, 3, size, size).to(device)
        result = augmented(trial, random_shift, images, reach)
        moves = _moves(images, result, reach)
        if (moves < -99).any():
            around = (_moves(images, result, reach, wrap=True) > -99).all()
            trial.expect(not around, "around-the-edge")
            raise trial.wrong("not-a-shift", reach=reach)
        if reach == 0:
            continue
        down, right = moves.unbind(1)
        alike = bool((moves == moves[0]).all())
        moved = translate("every image was moved by {shift}", shift=moves[0].tolist())
        trial.expect(not alike, "all-alike", what=moved)
        trial.expect(not torch.equal(down, right), "tied-axes")
        _check_even(trial, ("up", "down"), down.tolist(), reach)
        _check_even(trial, ("left", "right"), right.tolist(), reach)
        expect_chance(trial, random_shift, images, reach)
        expect_one_piece(trial, random_shift, images, reach)


def _check_even(trial: Trial, ways: tuple[str, str], shifts: list[int], reach: int) -> None:
    """Require that every shift along an axis is equally likely."""
    every = range(-reach, reach + 1)
    details = {"reach": reach, "count": _COUNT}
    for shift in every:
        seen = shift in shifts
        trial.expect(seen, "shifts-missing", way=ways[shift > 0], missing=abs(shift), **details)
    expected = _COUNT / len(every)
    # More than 6 standard deviations, so that no right answer is refused by chance.
    most = 6.2 * (expected * (1 - expected / _COUNT)) ** 0.5
    for shift in every:
        way = f"{ways[shift > 0]} by {abs(shift)}" if shift else f"neither {' nor '.join(ways)}"
        details |= {"way": way, "found": shifts.count(shift), "expected": round(expected)}
        trial.expect(abs(shifts.count(shift) - expected) <= most, "uneven-shifts", **details)


def _moves(
    images: torch.Tensor, result: torch.Tensor, reach: int, *, wrap: bool = False
) -> torch.Tensor:
    """Return by how many pixels each image moved down and right, -100 if no shift fits."""
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
