"""Lab 04, exercise 5: the check of `train_epoch`, and its hints."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_04.shared import (
    CLASSES,
    CLASSIC,
    EDITS,
    Batches,
    epoch_reference,
    lab,
    same_weights,
)

EVALUATION_MODE = Hint(
    "evaluation-mode",
    "The network was handed in in evaluation mode, and it was trained in that mode: its BatchNorm "
    "learnt nothing of the images.",
    "Who says that training begins? Do not rely on the mode that the network happens to be in.",
    CLASSES,
)

PILED_UP = Hint(
    "gradients-pile-up",
    "Each step goes along the gradients of all batches so far, and not of its own alone.",
    "`backward` adds to the gradients that are there. How often are they cleared, and how often "
    "is that needed?",
    CLASSIC,
)

NO_STEP = Hint(
    "no-step",
    "After the epoch the network has the weights it had before.",
    "Go through one step in the order of the lines: when are the gradients made, used, cleared?",
    CLASSIC,
)

NOT_A_LOSS = Hint(
    "keeps-the-graph",
    "`train_epoch` returns a {what}; the mean loss as a Python number is asked for.",
    "A loss that is added up as a tensor keeps all that it was computed from, batch after batch, "
    "until the memory is full. What turns it into a plain number?",
    EDITS,
)

MEAN_OF_BATCHES = Hint(
    "mean-of-batches",
    "The loss is the mean over the batches. The last batch is smaller, and the mean over the "
    "images is asked for.",
    "By what do you multiply a batch's mean loss to get the sum over its images?",
    CLASSES,
)

WRONG_LOSS = Hint(
    "wrong-loss",
    "The mean loss over all images is {exact:.4f}; `train_epoch` returns {found:.4f}.",
    "Print what you add up after each batch, and by what you divide in the end.",
    CLASSIC,
)

STEPS_EARLY = Hint(
    "steps-early",
    "The optimizer changes the weights between the forward and the backward pass of a batch, and "
    "torch refuses: the gradient belongs to the weights that were used.",
    "Go through one step in the order of the lines: when are the gradients made, used, cleared?",
    CLASSIC,
)

OTHER_STEPS = Hint(
    "other-steps",
    "After the epoch the network has other weights than one step a batch would give it.",
    "One step a batch, with the optimizer that was handed in, in the order in which the batches "
    "come. What does your loop do more, or less?",
    CLASSIC,
)


@lab.exercise(5, points=3, right="All three are mended, and the loss is that of the images.")
def exercise_5(trial: Trial, train_epoch: Callable[..., Any]) -> None:
    """`train_epoch(net, batches, optimizer)`: one epoch where the network lies; the mean loss."""
    for device in (trial.device, torch.device("cpu")):
        torch.manual_seed(trial.seed)
        sizes = [8] * trial.random.randint(3, 5) + [2]
        batches = [(trial.normal(n, 6) * 2, trial.integers(0, 4, (n,))) for n in sizes]
        batches[-1] = batches[-1][0] * 4, batches[-1][1]
        net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))
        expected, piled, untouched = (copy.deepcopy(net) for _ in range(3))
        exact = epoch_reference(expected, _momentum(expected, batches[0]), batches)
        epoch_reference(piled, _momentum(piled, batches[0]), batches, zero=False)
        net.to(device)
        optimizer = _momentum(net, tuple(tensor.to(device) for tensor in batches[0]))
        start = copy.deepcopy(net)
        modes = _modes_of(net.eval())
        outcome = trial.outcome(train_epoch, net, batches, optimizer)
        if outcome.error is not None:
            early = "modified by an inplace operation" in str(outcome.error)
            raise STEPS_EARLY.of() if early else trial.why(outcome.error)
        found = outcome.value
        trial.expect_result(found)
        trial.expect(modes and all(modes), EVALUATION_MODE)
        trial.expect(not same_weights(net, start), NO_STEP)
        trial.expect(not same_weights(net, piled), PILED_UP)
        plain = isinstance(found, int | float) and not isinstance(found, bool)
        what = "tensor that keeps its graph" if getattr(found, "requires_grad", False) else None
        trial.expect(plain, NOT_A_LOSS, what=what or type(found).__name__)
        trial.expect(same_weights(net, expected), OTHER_STEPS)
        means = _batch_losses(untouched, batches)
        close = math.isclose(found, exact, rel_tol=1e-3)
        same = math.isclose(found, sum(means) / len(means), rel_tol=1e-3)
        # Now and then the two means are equal, and then it is the right one.
        trial.expect(close or not same, MEAN_OF_BATCHES)
        trial.expect(close, WRONG_LOSS, exact=exact, found=float(found))


def _momentum(net: nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.optim.Optimizer:
    """An optimizer that has already taken a step, so that a new one in its place shows."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    F.cross_entropy(net(batch[0]), batch[1]).backward()
    optimizer.step()
    optimizer.zero_grad()
    return optimizer


def _modes_of(net: nn.Module) -> list[bool]:
    """A list that grows with every call of `net`: whether it was in training mode."""
    modes: list[bool] = []
    net.register_forward_hook(lambda net, *_: modes.append(net.training))
    return modes


def _batch_losses(net: nn.Module, batches: Batches) -> list[float]:
    """The loss of each batch of an epoch."""
    optimizer = _momentum(net, batches[0])
    return [epoch_reference(net, optimizer, [batch]) for batch in batches]
