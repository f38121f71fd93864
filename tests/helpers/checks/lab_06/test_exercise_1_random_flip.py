"""Answers to lab 06, exercise 1: `random_flip`."""

import torch

from helpers.checks import lab_06
from tests.helpers.checks.answers import Answers

answers = Answers(lab_06.exercise_1)


@answers.right
def with_where(images):
    mirrored = torch.rand(len(images), 1, 1, 1, device=images.device) < 0.5
    return torch.where(mirrored, images.flip(3), images)


@answers.right
def with_a_mask(images):
    result = images.clone()
    chosen = torch.randint(2, (images.shape[0],), device=images.device).bool()
    result[chosen] = images[chosen].flip(-1)
    return result


def _choose_at_random(images, fraction=0.5):
    return torch.rand(len(images), 1, 1, 1, device=images.device) < fraction


@answers.wrong("not-a-mirror")
def flips_vertically(images):
    return torch.where(_choose_at_random(images), images.flip(2), images)


@answers.wrong("wrong-fraction")
def flips_all(images):
    return images.flip(3)


@answers.wrong("always-half")
def flips_a_random_half(images):
    result = images.clone()
    chosen = torch.randperm(len(images), device=images.device)[: len(images) // 2]
    result[chosen] = images[chosen].flip(3)
    return result


@answers.wrong("shared-number")
def shares_a_number_with_its_neighbor(images):
    toss = _choose_at_random(images[::2]).repeat_interleave(2, 0)
    return torch.where(toss, images.flip(3), images)


@answers.wrong("shared-number")
def uses_the_same_numbers_for_the_second_half(images):
    toss = _choose_at_random(images[::2]).repeat(2, 1, 1, 1)
    return torch.where(toss, images.flip(3), images)


@answers.wrong("not-random")
def sets_the_seed(images):
    torch.manual_seed(0)
    return with_where(images)


@answers.wrong("input-changed")
def writes_into_the_images(images):
    chosen = _choose_at_random(images).flatten()
    images[chosen] = images[chosen].flip(3)
    return images


@answers.wrong("one-by-one")
def loops_over_images(images):
    toss = torch.rand(len(images), device=images.device) < 0.5
    return torch.stack([i.flip(2) if t else i for i, t in zip(images, toss, strict=True)])


@answers.wrong("copied")
def draws_on_the_cpu_and_moves(images):
    toss = (torch.rand(len(images), 1, 1, 1) < 0.5).to(images.device)
    return torch.where(toss, images.flip(3), images)


@answers.wrong("result-elsewhere")
def computes_on_the_cpu(images):
    return with_where(images.cpu())


@answers.wrong("not-images")
def returns_only_the_mirrored_images(images):
    return images[_choose_at_random(images).flatten()].flip(3)


@answers.wrong("copied")
def indexes_with_a_mask_on_the_cpu(images):
    result, chosen = images.clone(), torch.rand(len(images)) < 0.5
    result[chosen] = images[chosen].flip(3)
    return result


test_answers = answers.make_test()
