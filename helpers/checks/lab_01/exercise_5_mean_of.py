"""Lab 01, exercise 5: the check of `mean_of`, and its hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_01.shared import MOVING, WAITING, lab

NOT_A_FLOAT = Hint(
    "not-a-number",
    "`mean_of` returns a {what}; a plain Python number is asked for.",
    "A tensor with one number in it is still a tensor on its device. What makes a number of it?",
    WAITING,
)

MEAN_OF_MEANS = Hint(
    "mean-of-means",
    "Your result is the mean of the batches' means. The last batch is smaller than the others, and "
    "its numbers should not count for more.",
    "Which two totals does the mean over all numbers need?",
    WAITING,
)

WRONG_MEAN = Hint(
    "wrong-mean",
    "For batches of {sizes} numbers, the result is not their mean.",
    "Try it with two batches that you can work out in your head, of 1 and of 3 numbers.",
    WAITING,
)

MANY_FETCHES = Hint(
    "many-fetches",
    "For {batches} batches, your function takes numbers from the GPU {fetched} times; once is "
    "enough.",
    "Which line in your loop makes a Python number of a tensor, or brings it to the CPU?",
    WAITING,
)

BATCHES_CHANGED = Hint(
    "input-changed",
    "After the call, the batches that were handed in hold other numbers.",
    "Which line writes into a batch? Begin your total with a tensor of its own.",
    MOVING,
)


@lab.exercise(5, points=3, right="The right mean, and the CPU waits once.")
def exercise_5(trial: Trial, mean_of: Callable[..., Any]) -> None:
    """`mean_of(batches)`: the mean of all numbers as a Python number, with one fetch."""
    for device in trial.devices:
        full, last = trial.random.randint(5, 9), trial.random.randint(1, 3)
        count = trial.random.randint(4, 8)
        sizes = [full] * count + [last]
        batches = [trial.normal(n, 3, device=device) + 5 * i for i, n in enumerate(sizes, start=1)]
        exact = torch.cat([b.cpu().double() for b in batches]).mean().item()
        means = sum(b.cpu().double().mean().item() for b in batches) / len(batches)
        copies = [b.clone() for b in batches]
        with trial.watch() as watch:
            result = trial.call(mean_of, batches)
        trial.expect_result(result)
        plain = isinstance(result, float | int) and not isinstance(result, bool)
        trial.expect(plain, NOT_A_FLOAT, what=type(result).__name__)
        kept = len(batches) == len(copies) and all(map(torch.equal, batches, copies))
        trial.expect(kept, BATCHES_CHANGED)
        trial.expect(abs(result - means) > 1e-3 * abs(means), MEAN_OF_MEANS)
        close = abs(result - exact) <= 1e-4 * abs(exact)
        trial.expect(close, WRONG_MEAN, sizes=", ".join(str(3 * n) for n in sizes))
        if device.type != "cpu":
            few = watch.fetched <= 1
            trial.expect(few, MANY_FETCHES, batches=len(batches), fetched=watch.fetched)
