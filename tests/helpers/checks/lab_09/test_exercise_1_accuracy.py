"""Answers to lab 09, exercise 1: `accuracy`."""

import torch

from helpers.checks import lab_09
from tests.helpers.checks.answers import Answers

answers = Answers(lab_09.exercise_1)


def count(scores, labels):
    """Return how many images are right, and how many there are."""
    return (scores.argmax(1) == labels).sum(), len(labels)


@answers.right
def sums_two_counts(scores, labels, all_reduce):
    counts = torch.tensor(count(scores, labels), device=scores.device)
    all_reduce(counts)
    return (counts[0] / counts[1]).item()


@answers.right
def sums_each_count(scores, labels, all_reduce):
    correct, total = count(scores, labels)
    all_reduce(correct)
    total = torch.full((1,), float(total), device=labels.device)
    all_reduce(total)
    return correct.item() / int(total)


@answers.right
def sums_a_part_of_the_total(scores, labels, all_reduce):
    correct, total = count(scores, labels)
    images = torch.ones_like(correct) * total
    all_reduce(images)
    part = correct / images
    all_reduce(part)
    return float(part)


@answers.wrong("mean-of-accuracies")
def averages_accuracies(scores, labels, all_reduce):
    correct, total = count(scores, labels)
    numbers = torch.stack([correct / max(total, 1), torch.ones_like(correct)])
    all_reduce(numbers)
    return (numbers[0] / numbers[1]).item()


@answers.wrong("passed-elsewhere")
def counts_on_the_cpu(scores, labels, all_reduce):
    counts = torch.tensor(count(scores, labels))
    all_reduce(counts)
    return (counts[0] / counts[1]).item()


@answers.wrong("no-images")
def divides_first(scores, labels, all_reduce):
    correct, total = count(scores, labels)
    accuracy = correct.item() / total
    counts = torch.tensor([accuracy * total, total], device=scores.device)
    all_reduce(counts)
    return (counts[0] / counts[1]).item()


@answers.wrong("wrong-accuracy")
def sums_only_the_correct(scores, labels, all_reduce):
    correct, total = count(scores, labels)
    all_reduce(correct)
    return correct.item() / max(total, 1)


@answers.wrong("wrong-accuracy")
def counts_in_int8(scores, labels, all_reduce):
    counts = torch.tensor(count(scores, labels), dtype=torch.int8, device=scores.device)
    all_reduce(counts)
    return (counts[0] / counts[1]).item()


for hint, name, answer in (
    ("own-share", "never_reduces", lambda x, y, r: count(x, y)[0].item() / max(len(y), 1)),
    ("deadlock", "returns_early", lambda x, y, r: sums_two_counts(x, y, r) if len(y) else 0.0),
    ("deadlock", "reduces_matches", lambda x, y, r: r((x.argmax(1) == y).int()) or 0.875),
    ("raised", "expects_a_result", lambda x, y, r: r(count(x, y)[0]).item()),
    ("not-a-number", "returns_a_tensor", lambda *args: torch.tensor(sums_two_counts(*args))),
    ("wrong-accuracy", "returns_a_percentage", lambda *args: 100 * sums_two_counts(*args)),
):
    answer.__name__ = name
    answers.wrong(hint)(answer)
test_answers = answers.make_test()
