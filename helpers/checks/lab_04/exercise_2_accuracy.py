"""Lab 04, exercise 2: the check of `accuracy`, and its hints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_04.shared import (
    CLASSES,
    EDITS,
    GOOD,
    KEEPS_GRADIENTS,
    MANY_FETCHES,
    Batches,
    Judged,
    confusion,
    devices_of,
    examination,
    lab,
)

NOT_A_SHARE = Hint(
    "not-a-number",
    "`accuracy` returns a {what}; a plain Python number from 0 to 1 is asked for.",
    "A tensor with one number in it is still a tensor on its device. What makes a number of it?",
    GOOD,
)

IN_PERCENT = Hint(
    "in-percent",
    "`accuracy` returns {found:g}; a share from 0 to 1 is asked for.",
    "Percent are for people. What does the division alone give?",
    GOOD,
)

TRAINS_WHILE_JUDGED = Hint(
    "train-mode",
    "The network was in training mode while you judged it: its dropout threw away half of what it "
    "saw.",
    "A module has two modes. Which method switches to the one for evaluation, and where must that "
    "line stand?",
    CLASSES,
)

MODE_LEFT = Hint(
    "mode-left",
    "The network was in {before} mode before the call and is in {after} mode after it.",
    "Whoever called you may want to go on training. Note the mode at the beginning "
    "(`net.training`); what do you do with it at the end?",
    CLASSES,
)

JUDGED_ELSEWHERE = Hint(
    "judged-elsewhere",
    "The network was handed in on {before}, and after the call it lies on {after}.",
    "A module moves in place, for everybody who has it. What should travel instead, and to where?",
    EDITS,
)

MEAN_OF_MEANS = Hint(
    "mean-of-means",
    "Your result is the mean of the batches' accuracies. The last batch is smaller than the "
    "others, and its images should not count for more.",
    "Which two counts does the share of all images need?",
    GOOD,
)

TOTAL_GUESSED = Hint(
    "total-guessed",
    "You divide by {guessed}, and there are {images} images.",
    "Is every batch as large as the first? Where can you read off how many images it has?",
    CLASSES,
)

WRONG_SHARE = Hint(
    "wrong-share",
    "The network gets {correct} of {images} images right, and `accuracy` returns {found:.4g}.",
    "Try it by hand on a batch of two images: what are the answers, and which are right?",
    GOOD,
)


@lab.exercise(2, points=3, right="The share is right, and the CPU waits for the GPU once.")
def exercise_2(trial: Trial, accuracy: Callable[..., Any]) -> None:
    """`accuracy(net, batches)`: the share of right answers, counted on the network's device."""
    for device in (trial.device, torch.device("cpu")):
        training = device.type == "cuda"
        full = trial.random.randint(5, 9)
        sizes = [full] * trial.random.randint(4, 6) + [1, trial.random.randint(2, 4)]
        net, batches, shares = _telling_examination(trial, sizes)
        counts = confusion(net, batches)
        correct, images = int(counts.diagonal().sum()), sum(sizes)
        net.to(device).train(training)
        with trial.watch() as watch:
            found = trial.call(accuracy, net, batches)
        trial.expect_result(found)
        plain = isinstance(found, int | float) and not isinstance(found, bool)
        trial.expect(plain, NOT_A_SHARE, what=type(found).__name__)
        after = devices_of(net)
        told = ", ".join(map(str, after))
        trial.expect(after == {device}, JUDGED_ELSEWHERE, before=device, after=told)
        trial.expect(not any(net.modes), TRAINS_WHILE_JUDGED)
        names = {True: "training", False: "evaluation"}
        kept = net.training == training
        trial.expect(kept, MODE_LEFT, before=names[training], after=names[net.training])
        trial.expect(not any(net.gradients), KEEPS_GRADIENTS)
        _judge_share(trial, float(found), correct, images, sizes, shares)
        if device.type != "cpu":
            told = {"batches": len(batches), "fetched": watch.fetched, "enough": "once is enough"}
            # A question whether there was any image at all is forgiven.
            trial.expect(watch.fetched <= 2, MANY_FETCHES, **told)


def _telling_examination(trial: Trial, sizes: list[int]) -> tuple[Judged, Batches, list[float]]:
    """An examination in which each mistake gives a number of its own; and the batches' shares."""
    for _ in range(20):
        net, batches = examination(trial, sizes)
        counts = [confusion(net, [batch]).diagonal().sum().item() for batch in batches]
        shares = [count / size for count, size in zip(counts, sizes, strict=True)]
        totals = {sum(sizes), *_guesses(sizes)}
        numbers = [sum(shares) / len(shares), *(sum(counts) / total for total in totals)]
        if len({round(number, 4) for number in numbers}) == len(numbers):
            break
    return net, batches, shares


def _guesses(sizes: list[int]) -> set[int]:
    """What students take for the number of images."""
    count = len(sizes)
    return {count * sizes[0], count * sizes[-1], count * 4, count} - {sum(sizes)}


def _judge_share(
    trial: Trial, found: float, correct: int, images: int, sizes: list[int], shares: list[float]
) -> None:
    exact = correct / images
    if math.isclose(found, exact, rel_tol=1e-5):
        return
    trial.expect(not math.isclose(found, 100 * exact, rel_tol=1e-4), IN_PERCENT, found=found)
    means = sum(shares) / len(shares)
    trial.expect(not math.isclose(found, means, rel_tol=1e-4), MEAN_OF_MEANS)
    for guessed in _guesses(sizes):
        same = math.isclose(found, correct / guessed, rel_tol=1e-4)
        trial.expect(not same, TOTAL_GUESSED, guessed=guessed, images=images)
    raise WRONG_SHARE.of(correct=correct, images=images, found=found)
