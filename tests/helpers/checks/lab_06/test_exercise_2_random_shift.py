"""Answers to lab 06, exercise 2: `random_shift`."""

import torch
from torch.nn import functional as F

from helpers.checks import lab_06
from tests.helpers.checks.answers import Answers

answers = Answers(lab_06.exercise_2)


def _shift_images(images, down, right, max_shift):
    """Return the images shifted by `down` and `right`, both of shape (N,)."""
    count, _, height, width = images.shape
    rows = torch.arange(height, device=images.device) + max_shift - down[:, None]
    columns = torch.arange(width, device=images.device) + max_shift - right[:, None]
    padded = F.pad(images, (max_shift,) * 4)
    indices = torch.arange(count, device=images.device)[:, None, None]
    shifted = padded.permute(0, 2, 3, 1)[indices, rows[:, :, None], columns[:, None, :]]
    return shifted.permute(0, 3, 1, 2)


def _draw_shifts(images, low, high):
    return torch.randint(low, high, (len(images),), device=images.device)


@answers.right
def by_padding_and_a_gather(images, max_shift):
    down, right = (_draw_shifts(images, -max_shift, max_shift + 1) for _ in range(2))
    return _shift_images(images, down, right, max_shift)


@answers.right
def by_windows(images, max_shift):
    height, width = images.shape[2:]
    windows = F.pad(images, (max_shift,) * 4).unfold(2, height, 1).unfold(3, width, 1)
    indices = torch.arange(len(images), device=images.device)
    top, left = torch.randint(0, 2 * max_shift + 1, (2, len(images)), device=images.device)
    return windows[indices, :, top, left]


@answers.wrong("not-a-shift")
def rolls_the_whole_batch(images, max_shift):
    return images.roll(1, 3)


@answers.wrong("uneven-shifts")
def shifts_along_one_axis(images, max_shift):
    down = _draw_shifts(images, -max_shift, max_shift + 1)
    return _shift_images(images, down, torch.zeros_like(down), max_shift)


@answers.wrong("same-shift-on-both-axes")
def uses_one_shift_for_both_axes(images, max_shift):
    shift = _draw_shifts(images, -max_shift, max_shift + 1)
    return _shift_images(images, shift, shift, max_shift)


@answers.wrong("copied")
def draws_on_the_cpu_and_moves_the_shifts(images, max_shift):
    down, right = (torch.randint(-max_shift, max_shift + 1, (len(images),)) for _ in range(2))
    return _shift_images(images, down.to(images.device), right.to(images.device), max_shift)


@answers.wrong("not-images")
def leaves_the_padding(images, max_shift):
    return F.pad(images, (max_shift + 1,) * 4)


@answers.wrong("not-images")
def returns_squares(images, max_shift):
    return by_windows(images[..., : images.shape[2]], max_shift)


@answers.wrong("one-by-one")
def loops_over_the_images(images, max_shift):
    height, width = images.shape[2:]
    moved = []
    for image in F.pad(images, (max_shift,) * 4):
        top, left = torch.randint(0, 2 * max_shift + 1, (2,)).tolist()
        moved.append(image[:, top : top + height, left : left + width])
    return torch.stack(moved)


@answers.wrong("not-random")
def sets_its_own_seed(images, max_shift):
    torch.manual_seed(1)
    return by_padding_and_a_gather(images, max_shift)


@answers.wrong("result-elsewhere")
def computes_on_the_cpu(images, max_shift):
    return by_padding_and_a_gather(images.cpu(), max_shift)


@answers.wrong("input-changed")
def writes_into_the_images(images, max_shift):
    return images.copy_(by_padding_and_a_gather(images, max_shift))


test_answers = answers.make_test()
