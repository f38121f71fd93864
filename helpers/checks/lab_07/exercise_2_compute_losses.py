"""Lab 07, exercise 2: `compute_losses`."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.checks.descriptions import describe, is_number
from helpers.checks.lab_07.shared import PeakMeter, lab
from helpers.checks.trial import Answer, Trial


@lab.exercise(2, points=2, success_message="Only numbers are left, and no graph was built.")
def exercise_2(trial: Trial, compute_losses: Answer) -> None:
    """`compute_losses(net, batches)`: one loss per batch, and no activations."""
    for training in (True, False):
        count = trial.random.randint(3, 5)
        net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 5))
        net.to(trial.device).train(training)
        batches = [
            (trial.normal(128, 32, device=trial.device), trial.integers(0, 5, (128,), trial.device))
            for _ in range(count)
        ]
        net.eval()
        with torch.no_grad():
            expected = [F.cross_entropy(net(X), y).item() for X, y in batches]
        net.train(training)
        modes_in_forward: set[bool] = set()
        net[2].register_forward_hook(_make_mode_hook(modes_in_forward))
        result, saved, live = trial.observe(_evaluate, compute_losses, net, batches)
        trial.expect(isinstance(result, list), "not-a-list", found=describe(result))
        trial.expect(len(result) == count, "not-one-per-batch", found=len(result), count=count)
        for loss in result:
            has_graph = isinstance(loss, Tensor) and loss.requires_grad
            trial.expect(not has_graph, "keeps-graph", kept=f"{live:,}")
            trial.expect(is_number(loss), "not-numbers", found=describe(loss))
        trial.expect(not saved, "builds-graph", count=saved)
        # The losses cannot show this: dropout changes the mean of many examples only a little.
        trial.expect(True not in modes_in_forward, "in-training-mode")
        for loss_value, expected_loss in zip(result, expected, strict=True):
            close = abs(loss_value - expected_loss) < 1e-2 + 1e-2 * abs(expected_loss)
            rounded = loss_value == round(loss_value, 3)
            details = {"found": f"{loss_value:.5f}", "wanted": f"{expected_loss:.5f}"}
            trial.expect(close and not rounded, "different-losses", **details)
        modes = {module.training for module in net.modules()}
        trial.expect(modes == {training}, "mode-changed", before=training)
        trial.expect(not trial.gradients_disabled, "gradients-off")
        any_frozen = any(not parameter.requires_grad for parameter in net.parameters())
        trial.expect(not any_frozen, "parameters-frozen")


def _evaluate(
    trial: Trial, compute_losses: Answer, net: nn.Module, batches: list[tuple[Tensor, Tensor]]
) -> tuple[Any, int, int]:
    """Return the result, how many tensors autograd saved, and the bytes still in use."""
    saved: list[int] = []
    hooks = torch.autograd.graph.saved_tensors_hooks(_make_pack_hook(saved), lambda tensor: tensor)
    with hooks, PeakMeter() as meter:
        result = trial.result_of(compute_losses, net, batches)
    return result, len(saved), meter.live


def _make_pack_hook(saved: list[int]) -> Callable[[Tensor], Tensor]:
    def pack(tensor: Tensor) -> Tensor:
        saved.append(tensor.nbytes)
        return tensor.detach()

    return pack


def _make_mode_hook(modes: set[bool]) -> Callable[..., None]:
    def hook(layer: nn.Module, *_: object) -> None:
        modes.add(layer.training)

    return hook
