"""Lab 04, exercise 3: the check of `per_class`, and its hints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_04.shared import (
    CLASSES,
    KEEPS_GRADIENTS,
    MANY_FETCHES,
    confusion,
    examination,
    lab,
)

NOT_TEN = Hint(
    "not-ten-numbers",
    "`per_class` returns {what}; a list of ten Python numbers is asked for.",
    "One number a class, in the order of the classes, as plain numbers.",
    CLASSES,
)

FIXED_BATCH = Hint(
    "fixed-batch",
    "For a batch of {size} images, `per_class` stops with {error}.",
    "The last batch is often smaller, and may even have one image. Which number in your code says "
    "how many there are?",
    CLASSES,
)

FIRST_FOUR = Hint(
    "first-four",
    "Your function counts the first four images of each batch and no others.",
    "Read the loop over single images again: up to where does it go?",
    CLASSES,
)

EMPTY_CLASS = Hint(
    "empty-class",
    "No image is of class {label}, and there `per_class` {what}; nan is asked for.",
    "Nothing divided by nothing is no number. What does a tensor make of 0 / 0, and what does "
    "Python?",
    CLASSES,
)

BY_ANSWERS = Hint(
    "by-answers",
    "You divide by how often the network *answers* a class. Asked for is the share of the images "
    "that *are* of the class.",
    "In the table of true classes against answers: along which side do you add up?",
    CLASSES,
)

SHARE_OF_ALL = Hint(
    "share-of-all",
    "You divide by the number of all images, so that ten times the share is asked of each class.",
    "How many images of this one class are there?",
    CLASSES,
)

WRONG_CLASSES = Hint(
    "wrong-share",
    "For class {label}, `per_class` says {found:.3g}; {correct} of {images} are right.",
    "Work out by hand what a batch of three images should add to your counts.",
    CLASSES,
)


@lab.exercise(3, points=3, right="Every image counts, in batches of any size.")
def exercise_3(trial: Trial, per_class: Callable[..., Any]) -> None:
    """`per_class(net, batches)`: for each of ten classes, the share of its images that is right."""
    draw = trial.random.randint
    for device, sizes in (
        (trial.device, [draw(20, 30)] * 4 + [1, draw(5, 9)]),
        (torch.device("cpu"), [draw(6, 9)] * 5 + [draw(2, 3), 1]),
    ):
        net, batches = examination(trial, sizes)
        missing = draw(0, 9)
        for _, labels in batches:
            labels[labels == missing] = (missing + 1) % 10
        counts = confusion(net, batches)
        four = confusion(net, [(images[:4], labels[:4]) for images, labels in batches])
        net.to(device)
        with trial.watch() as watch:
            outcome = trial.outcome(per_class, net, batches)
        if outcome.error is not None:
            if isinstance(outcome.error, ZeroDivisionError):
                raise EMPTY_CLASS.of(label=missing, what="divides by zero")
            fixed = isinstance(outcome.error, IndexError)
            fixed = fixed or "0-d tensor" in str(outcome.error)
            error = f"{type(outcome.error).__name__}: {outcome.error}".rstrip(".")
            trial.expect(not fixed, FIXED_BATCH, size=min(sizes), error=error)
            raise trial.why(outcome.error)
        found = outcome.value
        trial.expect_result(found)
        _judge_classes(trial, found, counts, four, missing)
        trial.expect(not any(net.gradients), KEEPS_GRADIENTS)
        if device.type != "cpu":
            told = {"batches": len(batches), "fetched": watch.fetched}
            told["enough"] = "two tables of counts need two at most"
            trial.expect(watch.fetched <= 2, MANY_FETCHES, **told)


def _judge_classes(
    trial: Trial, found: Any, counts: torch.Tensor, four: torch.Tensor, missing: int
) -> None:
    what = f"a {type(found).__name__}"
    if isinstance(found, list):
        kinds = {type(value).__name__ for value in found}
        what = f"a list of {len(found)} ({', '.join(sorted(kinds))})"
    good = isinstance(found, list) and len(found) == 10
    plain = good and all(isinstance(v, int | float) and not isinstance(v, bool) for v in found)
    trial.expect(plain, NOT_TEN, what=what)
    right = counts.diagonal().double()
    if _same_classes(found, right / counts.sum(1)):
        return
    trial.expect(not _same_classes(found, four.diagonal() / four.sum(1)), FIRST_FOUR)
    trial.expect(not _same_classes(found, right / counts.sum(0)), BY_ANSWERS)
    trial.expect(not _same_classes(found, right / counts.sum()), SHARE_OF_ALL)
    for label in (*range(10), missing):
        correct, images = int(right[label]), int(counts[label].sum())
        if images and not math.isclose(found[label], correct / images, rel_tol=1e-4):
            told = {"label": label, "found": found[label], "correct": correct, "images": images}
            raise WRONG_CLASSES.of(**told)
    raise EMPTY_CLASS.of(label=missing, what=f"says {found[missing]}")


def _same_classes(found: list[float], exact: torch.Tensor) -> bool:
    # A class that nobody answers, or that four of a batch do not show, may count as anything.
    pairs = list(zip(found, exact.tolist(), strict=True))
    return all(
        (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-6)
        for a, b in pairs
    )
