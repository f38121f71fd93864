"""Lab 02, exercise 3: the check of `evaluate_batch`, and its hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_02.shared import (
    INPUT_CHANGED,
    LAYERS,
    LEAVING,
    LOSSES,
    NET_MOVED,
    lab,
    moved_to,
    place_of,
    same_numbers,
)

IMAGES_BEHIND = Hint(
    "images-behind",
    "`net` is on {net}, but the images stayed on {other}: the first layer sees both.",
    "Which of the tensors in the line that fails was never moved, or was moved and not kept?",
    LAYERS,
)

LABELS_BEHIND = Hint(
    "labels-behind",
    "`net` is on {net}, but the labels stayed on {other}: the loss sees both.",
    "The labels of a batch are a tensor too. Where do they go before the loss looks at them?",
    LOSSES,
)

WEIGHTS_BEHIND = Hint(
    "weights-behind",
    "`net` is on {net}, but the class weights in the loss stayed on {other}.",
    "A loss with weights is a module that holds a tensor. How does what is in a module move?",
    LOSSES,
)

NOT_TWO = Hint(
    "not-two-numbers",
    "`evaluate_batch` returns {found}; a float and an int are asked for.",
    "A tensor with one number in it is no Python number yet. And how many values do you return?",
    LEAVING,
)

WEIGHTS_DROPPED = Hint(
    "weights-dropped",
    "The loss that `evaluate_batch` returns is the one without class weights.",
    "Which loss do you call: the one that was handed in, or one that you made?",
    LOSSES,
)

WRONG_LOSS = Hint(
    "wrong-loss",
    "The loss that `evaluate_batch` returns is not that of the whole batch.",
    "What do you hand to `loss`: what the network returns, and the labels as they came?",
    LOSSES,
)

A_SHARE = Hint(
    "share-not-count",
    "`evaluate_batch` returns a share of {found:g} for {right} right answers.",
    "How many are right is asked for, as a whole number; the caller divides.",
    LOSSES,
)

WRONG_COUNT = Hint(
    "wrong-count",
    "{right} of {total} answers are right, and `evaluate_batch` counts {found}.",
    "The network's answer to an image is the class with the highest score. Along which dimension "
    "of the scores do the classes lie?",
    LOSSES,
)


@lab.exercise(3, points=3, right="Images, labels and class weights all come to the network.")
def exercise_3(trial: Trial, evaluate_batch: Callable[..., Any]) -> None:
    """`evaluate_batch(net, loss, images, labels)`: the loss as a float, the right as an int."""
    classes = trial.random.randint(3, 4)
    for place in trial.devices:
        other = next(device for device in reversed(trial.devices) if device != place)
        for count in (trial.random.randint(6, 12), 1):
            net = nn.Sequential(nn.Flatten(), nn.Linear(12, classes))
            loss = nn.CrossEntropyLoss(weight=trial.normal(classes).abs() + 0.2)
            images = trial.normal(count, 3, 2, 2)
            with torch.no_grad():
                scores = net(images)
            labels = scores.argmax(dim=1)
            wrong = trial.random.randint(1, count - 1) if count > 1 else 0
            labels[:wrong] = (labels[:wrong] + 1) % classes
            _check_evaluation(trial, evaluate_batch, (net, loss, images, labels), place, other)


def _check_evaluation(
    trial: Trial,
    evaluate_batch: Callable[..., Any],
    given: tuple[nn.Module, nn.Module, Tensor, Tensor],
    place: torch.device,
    other: torch.device,
) -> None:
    net, loss, images, labels = given
    with torch.no_grad():
        scores = net(images)
        expected = loss(scores, labels).item()
        unweighted = F.cross_entropy(scores, labels).item()
    right = int((scores.argmax(dim=1) == labels).sum())
    moved = [moved_to(net, place), *(moved_to(each, other) for each in given[1:])]
    outcome = trial.outcome(evaluate_batch, *moved)
    found = place_of(moved[0])
    trial.expect(found == place, NET_MOVED, name=trial.name, found=found, given=place)
    if outcome.error is not None:
        for word, hint in _BEHIND.items():
            if f"{word} is on {other}" in str(outcome.error):
                raise hint.of(net=place, other=other)
        raise trial.why(outcome.error)
    result = outcome.value
    trial.expect_result(result)
    kept = all(map(same_numbers, moved[2:], given[2:]))
    trial.expect(kept, INPUT_CHANGED, name="evaluate_batch")
    pair = isinstance(result, tuple | list) and len(result) == 2
    trial.expect(pair, NOT_TWO, found=f"a {type(result).__name__}")
    mean, counted = result
    share = right / len(labels)
    if isinstance(counted, float) and abs(counted - share) < 1e-6 and share < 1:
        raise A_SHARE.of(found=counted, right=right)
    kinds = f"a {type(mean).__name__} and a {type(counted).__name__}"
    good = isinstance(mean, float) and isinstance(counted, int) and not isinstance(counted, bool)
    trial.expect(good, NOT_TWO, found=kinds)
    dropped = len(labels) > 1 and _near(mean, unweighted) and not _near(expected, unweighted)
    trial.expect(not dropped, WEIGHTS_DROPPED)
    trial.expect(_near(mean, expected), WRONG_LOSS)
    trial.expect(counted == right, WRONG_COUNT, right=right, total=len(labels), found=counted)


_BEHIND = {"mat1": IMAGES_BEHIND, "target": LABELS_BEHIND, "weight": WEIGHTS_BEHIND}


def _near(one: float, other: float) -> bool:
    # A GPU may round the inputs of a product (TF32).
    return abs(one - other) <= 5e-3 * max(1.0, abs(other))
