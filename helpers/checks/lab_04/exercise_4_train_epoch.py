"""Lab 04, exercise 4: `train_epoch`."""

import copy
import math
import statistics
import weakref

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.comparing import same_weights
from helpers.checks.descriptions import describe, is_number
from helpers.checks.lab_04.shared import Batches, epoch_reference, lab
from helpers.checks.trial import Answer, Trial


@lab.exercise(4, points=3, success_message="All three mistakes are fixed.")
def exercise_4(trial: Trial, train_epoch: Answer) -> None:
    """`train_epoch(net, batches, optimizer)`: one epoch; the mean loss over the images."""
    for device in (trial.device, torch.device("cpu")):
        torch.manual_seed(trial.seed)
        sizes = [8] * trial.random.randint(3, 5) + [2]
        exact = mean_of_means = 0.0
        while abs(exact - mean_of_means) < 0.02:  # repeat until the two means differ
            batches = [(trial.normal(n, 6) * 2, trial.integers(0, 4, (n,))) for n in sizes]
            batches[-1] = batches[-1][0] * 4, batches[-1][1]
            net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))
            expected, accumulated, other = (copy.deepcopy(net) for _ in range(3))
            exact = epoch_reference(expected, _optimizer_with_state(expected, batches[0]), batches)
            mean_of_means = statistics.mean(_batch_losses(other, batches))
        epoch_reference(
            accumulated, _optimizer_with_state(accumulated, batches[0]), batches, zero=False
        )
        net.to(device)
        optimizer = _optimizer_with_state(net, tuple(tensor.to(device) for tensor in batches[0]))
        start = copy.deepcopy(net)
        modes, graphs = _observe(net.eval())
        outcome = trial.try_call(train_epoch, net, batches, optimizer)
        if outcome.error is not None:
            steps_early = "modified by an inplace operation" in str(outcome.error)
            raise trial.wrong("steps-early") if steps_early else trial.hint_for(outcome.error)
        result = outcome.value
        trial.expect_result(result)
        trial.expect(modes and all(modes), "evaluation-mode")
        trial.expect(not same_weights(net, start), "no-step")
        trial.expect(not same_weights(net, accumulated), "gradients-pile-up")
        trial.expect(is_number(result), "keeps-the-graph", what=describe(result))
        # The graph of the previous batch may still be alive, because `loss` refers to it.
        trial.expect(max(graphs) <= 1, "graph-kept")
        trial.expect(same_weights(net, expected), "different-steps")
        trial.expect(not math.isclose(result, mean_of_means, rel_tol=1e-3), "mean-of-batches")
        close = math.isclose(result, exact, rel_tol=1e-3)
        trial.expect(close, "wrong-loss", exact=exact, found=float(result))


def _optimizer_with_state(
    net: nn.Module, batch: tuple[torch.Tensor, torch.Tensor]
) -> torch.optim.Optimizer:
    """Return an optimizer with state: replacing it with a new one changes the result."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    F.cross_entropy(net(batch[0]), batch[1]).backward()
    optimizer.step()
    optimizer.zero_grad()
    return optimizer


class _Mark:
    """A marker that exists as long as the graph that it is attached to."""


def _observe(net: nn.Module) -> tuple[list[bool], list[int]]:
    """Return two lists that grow with every call to `net`.

    The first has the training mode of `net`, the second the number of earlier graphs still alive.
    """
    modes: list[bool] = []
    alive: list[int] = []
    marks: list[weakref.ref[_Mark]] = []

    def record(net: nn.Module, inputs: object, output: torch.Tensor) -> None:
        modes.append(net.training)
        alive.append(sum(mark() is not None for mark in marks))
        if output.grad_fn is not None:
            mark = _Mark()
            output.grad_fn.metadata["mark"] = mark
            marks.append(weakref.ref(mark))

    net.register_forward_hook(record)
    return modes, alive


def _batch_losses(net: nn.Module, batches: Batches) -> list[float]:
    """Return the loss of each batch of an epoch."""
    optimizer = _optimizer_with_state(net, batches[0])
    return [epoch_reference(net, optimizer, [batch]) for batch in batches]
