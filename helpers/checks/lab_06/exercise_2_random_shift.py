"""Lab 06, exercise 2: `random_shift`."""

import torch
from torch.nn import functional as F

from helpers.checks.lab_06.shared import augmented, expect_chance, expect_one_piece, lab
from helpers.checks.trial import Answer, Trial


@lab.exercise(2, points=3, right="Each image goes its own way, all of them in one gather.")
def exercise_2(trial: Trial, random_shift: Answer) -> None:
    """`random_shift(images, reach)`: each image moved by up to `reach` pixels, zeros behind it."""
    torch.manual_seed(trial.seed)
    for device, reach in ((trial.device, 1), (torch.device("cpu"), 2), (trial.device, 0)):
        size = trial.random.randint(6, 9)
        images = trial.normal(256, 3, size, size).to(device)
        result = augmented(trial, random_shift, images, reach)
        moves = _moves(images, result, reach)
        if (moves < -99).any():
            around = (_moves(images, result, reach, wrap=True) > -99).all()
            raise (
                trial.wrong("around-the-edge")
                if around
                else trial.wrong("not-a-shift", reach=reach)
            )
        if reach == 0:
            continue
        down, right = moves.unbind(1)
        alike = bool((moves == moves[0]).all())
        trial.expect(not alike, "all-alike", what=f"every image was moved by {moves[0].tolist()}")
        trial.expect(not torch.equal(down, right), "tied-axes")
        for ways, found in ((("up", "down"), down), (("left", "right"), right)):
            for missing in sorted(set(range(-reach, reach + 1)) - set(found.tolist())):
                told = {"reach": reach, "count": len(images), "missing": abs(missing)}
                raise trial.wrong("shifts-missing", way=ways[missing > 0], **told)
        expect_chance(trial, random_shift, images, reach)
        expect_one_piece(trial, random_shift, images, reach)


def _moves(
    images: torch.Tensor, result: torch.Tensor, reach: int, *, wrap: bool = False
) -> torch.Tensor:
    """By how many pixels each image was moved down and to the right; -100 for none that fits."""
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
