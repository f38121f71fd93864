"""Lab 04, exercise 5: `train_epoch`."""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.comparing import same_weights
from helpers.checks.lab_04.shared import Batches, epoch_reference, lab
from helpers.checks.trial import Answer, Trial, is_number


@lab.exercise(5, points=3, right="All three are mended, and the loss is that of the images.")
def exercise_5(trial: Trial, train_epoch: Answer) -> None:
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
        called = trial.try_call(train_epoch, net, batches, optimizer)
        if called.error is not None:
            early = "modified by an inplace operation" in str(called.error)
            raise trial.wrong("steps-early") if early else trial.why(called.error)
        found = called.value
        trial.expect_result(found)
        trial.expect(modes and all(modes), "evaluation-mode")
        trial.expect(not same_weights(net, start), "no-step")
        trial.expect(not same_weights(net, piled), "gradients-pile-up")
        plain = is_number(found)
        what = "tensor that keeps its graph" if getattr(found, "requires_grad", False) else None
        trial.expect(plain, "keeps-the-graph", what=what or type(found).__name__)
        trial.expect(same_weights(net, expected), "other-steps")
        means = _batch_losses(untouched, batches)
        close = math.isclose(found, exact, rel_tol=1e-3)
        same = math.isclose(found, sum(means) / len(means), rel_tol=1e-3)
        # Now and then the two means are equal, and then it is the right one.
        trial.expect(close or not same, "mean-of-batches")
        trial.expect(close, "wrong-loss", exact=exact, found=float(found))


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
