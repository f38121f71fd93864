"""Lab 06, exercise 5: the check of `smoothed_loss`, and its hints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_06.shared import REST, lab

NOT_ONE_LOSS = Hint(
    "not-one-loss",
    "`smoothed_loss` returns {found}; a tensor with one number is asked for.",
    "One loss for the whole batch, still a tensor, so that `backward` can follow it.",
    REST,
)

NO_GRADIENT = Hint(
    "no-gradient",
    "No gradient comes through your loss to the logits.",
    "`.item()`, `.detach()` and a new tensor made of numbers all cut the way back.",
    REST,
)

NOT_SMOOTHED = Hint(
    "not-smoothed",
    "For a smoothing of {smoothing:g}, your loss is the plain cross-entropy.",
    "What is the target for the right answer now, and what for the others?",
    REST,
)

OTHERS_ONLY = Hint(
    "others-only",
    "You spread the {smoothing:g} over the wrong classes only. It is to be spread over all "
    "classes, the right one included.",
    "How many classes share it, and what does the right one have in the end?",
    REST,
)

SUMMED = Hint(
    "summed",
    "Your loss is {times:.3g} times as large as the mean over the images.",
    "By what do you divide, and over which of the two axes?",
    REST,
)

TEN_CLASSES = Hint(
    "ten-classes",
    "For {classes} classes, `smoothed_loss` {what}.",
    "How many classes there are can be read off the logits.",
    REST,
)

OVERFLOWS = Hint(
    "overflows",
    "For logits of some hundreds, your loss is {found}.",
    "A probability too small for its type is 0, and its logarithm is infinite. Which function of "
    "torch takes both steps at once?",
    REST,
)

OTHER_LOSS = Hint(
    "other-loss",
    "For a smoothing of {smoothing:g} and {classes} classes, your loss is {found:.4f}.",
    "Write down the target of one image by hand, with three classes. Does it add up to 1?",
    REST,
)


@lab.exercise(5, points=3, right="No effort goes into being surer than sure.")
def exercise_5(trial: Trial, smoothed_loss: Callable[..., Any]) -> None:
    """`smoothed_loss(logits, labels, smoothing)`: cross-entropy with smoothed labels."""
    draw = trial.random
    cases = [(10, 0.2, trial.device, 1), (draw.randint(4, 7), 0.3, torch.device("cpu"), 1)]
    cases += [(10, 0.0, trial.device, 1), (draw.randint(12, 19), 0.1, trial.device, 400)]
    for classes, smoothing, device, scale in cases:
        count = draw.randint(20, 30)
        logits = (scale * trial.normal(count, classes)).to(device).requires_grad_()
        labels = trial.integers(0, classes, (count,), device)
        outcome = trial.outcome(smoothed_loss, logits, labels, smoothing)
        if outcome.error is not None:
            shapes = classes != 10 and isinstance(outcome.error, RuntimeError | IndexError)
            shapes = shapes and "device" not in str(outcome.error)
            trial.expect(not shapes, TEN_CLASSES, classes=classes, what="stops with an error")
            raise trial.why(outcome.error)
        loss = outcome.value
        trial.expect_result(loss)
        tensor = isinstance(loss, torch.Tensor)
        found = f"a {type(loss).__name__}"
        found = f"a tensor of shape {tuple(loss.shape)}" if tensor else found
        trial.expect(tensor and loss.numel() == 1, NOT_ONE_LOSS, found=found)
        trial.expect(loss.requires_grad, NO_GRADIENT)
        _judge_loss(trial, loss.item(), logits.detach().cpu().double(), labels.cpu(), smoothing)


def _judge_loss(
    trial: Trial, found: float, logits: torch.Tensor, labels: torch.Tensor, smoothing: float
) -> None:
    count, classes = logits.shape
    exact = F.cross_entropy(logits, labels, label_smoothing=smoothing).item()
    if math.isclose(found, exact, rel_tol=1e-4):
        return
    trial.expect(math.isfinite(found), OVERFLOWS, found=found)
    hard = F.cross_entropy(logits, labels).item()
    told = {"smoothing": smoothing, "classes": classes}
    trial.expect(not math.isclose(found, hard, rel_tol=1e-4), NOT_SMOOTHED, **told)
    every = -logits.log_softmax(1).sum(1).mean().item()
    others = (1 - smoothing) * hard + smoothing * (every - hard) / (classes - 1)
    trial.expect(not math.isclose(found, others, rel_tol=1e-4), OTHERS_ONLY, **told)
    for times in (count, 1 / classes, 1 / count, classes):
        same = math.isclose(found, times * exact, rel_tol=1e-4)
        trial.expect(not same, SUMMED, times=times)
    ten = (1 - smoothing) * hard + smoothing * every / 10
    same = classes != 10 and math.isclose(found, ten, rel_tol=1e-4)
    trial.expect(not same, TEN_CLASSES, classes=classes, what="spreads over ten")
    raise OTHER_LOSS.of(found=found, **told)
