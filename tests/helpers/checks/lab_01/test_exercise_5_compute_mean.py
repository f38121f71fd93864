"""Answers to lab 01, exercise 5: `compute_mean`."""

import torch

from helpers.checks import lab_01
from tests.helpers.checks.answers import Answers

answers = Answers(lab_01.exercise_5)


@answers.right
def with_a_total_on_the_device(batches):
    total, count = 0, 0
    for batch in batches:
        total = total + batch.sum()
        count += batch.numel()
    return (total / count).item()


@answers.right
def fetches_with_tolist(batches):
    total = sum(batch.double().sum() for batch in batches)
    return (total / sum(map(torch.numel, batches))).tolist()


@answers.right
def copies_one_number_to_the_cpu(batches):
    return torch.cat([batch.flatten() for batch in batches]).mean().cpu().item()


@answers.wrong("many-fetches")
def calls_item_in_the_loop(batches):
    total = sum(batch.sum().item() for batch in batches)
    return total / sum(batch.numel() for batch in batches)


@answers.wrong("mean-of-means")
def averages_the_means(batches):
    return torch.stack([batch.mean() for batch in batches]).mean().item()


@answers.wrong("not-a-number")
def returns_a_tensor(batches):
    return torch.cat(batches).mean()


@answers.wrong("wrong-mean")
def skips_the_last_batch(batches):
    return torch.cat(batches[:-1]).mean().item()


@answers.wrong("input-changed")
def sums_in_the_first_batch(batches):
    count, total = sum(batch.numel() for batch in batches), batches[0]
    total[0, 0] = sum(batch.sum() for batch in batches)
    return (total[0, 0] / count).item()


test_answers = answers.make_test()
