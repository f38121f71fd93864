"""Lab 08, exercise 4: `training_step`."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.checks.descriptions import describe
from helpers.checks.lab_08.shared import lab
from helpers.checks.trial import Answer, Trial

_SCALE, _MAX_NORM, _RATE = 1024.0, 0.4, 0.1
_LARGE_NORM = 1000.0  # larger than the norm of any gradient here
# Gradients that remain after a step are multiplied by this, so that they visibly affect the next.
_LEFTOVER_FACTOR = 100

_Batches = list[tuple[Tensor, Tensor]]


class Scaler(torch.amp.GradScaler):
    """A gradient scaler that records which of its methods were called."""

    def __init__(self) -> None:
        super().__init__("cuda", init_scale=_SCALE)
        self.calls: set[str] = set()

    def scale(self, outputs: Any) -> Any:
        self.calls.add("scale")
        return super().scale(outputs)

    def unscale_(self, optimizer: torch.optim.Optimizer) -> None:
        self.calls.add("unscale_")
        super().unscale_(optimizer)

    def step(self, optimizer: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> Any:
        self.calls.add("step")
        return super().step(optimizer, *args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        self.calls.add("update")
        super().update(new_scale)


@lab.exercise(
    4, points=4, success_message="Scaled, unscaled, clipped, and skipped where it overflows."
)
def exercise_4(trial: Trial, training_step: Answer) -> None:
    """`training_step(net, optimizer, scaler, X, y, max_norm)`: one step in mixed precision."""
    net, optimizer, start = _net_and_optimizer(trial)
    # Two batches: gradients that are not cleared after the first step change the second one.
    batches = [_batch(trial) for _ in "12"]
    copies = [(X.clone(), y.clone()) for X, y in batches]
    steps = trial.observe(_take_steps, training_step, net, optimizer, copies, _MAX_NORM)
    scaler, losses, calls, dtypes, autocast_in_backward = steps
    for method, hint in (("scale", "not-scaled"), ("step", "plain-step"), ("update", "no-update")):
        trial.expect(method in calls, hint)
    trial.expect(dtypes, "no-forward")
    trial.expect(net.training, "in-evaluation-mode")
    trial.expect(dtypes[0] != torch.float32, "no-autocast")
    trial.expect(dtypes[0] == torch.float16, "different-precision", found=dtypes[0])
    trial.expect(not any(autocast_in_backward), "backward-inside")
    weights = [parameter.detach() for parameter in net.parameters()]
    expected, expected_losses = _reference(start, batches)
    _check_weights(trial, weights, start, expected, batches)
    for loss, expected_loss in zip(losses, expected_losses, strict=True):
        _check_loss(trial, loss, expected_loss)
    weights_before = [value.clone() for value in weights]
    X, y = batches[0]
    step = training_step, net, optimizer, scaler, X * 1e6, y
    scale, new_scale = trial.observe(_scale_before_and_after, *step)
    unchanged = all(
        torch.equal(a, b.detach()) for a, b in zip(weights_before, net.parameters(), strict=True)
    )
    trial.expect(unchanged, "not-skipped")
    trial.expect(new_scale == scale / 2, "scale-kept", found=new_scale)
    _check_large_norm(trial, training_step)


def _net_and_optimizer(trial: Trial) -> tuple[nn.Sequential, torch.optim.Optimizer, list[Tensor]]:
    """Return a network, its optimizer, and copies of its weights."""
    torch.manual_seed(trial.random.randrange(2**31))
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).to(trial.device)
    start = [parameter.detach().clone() for parameter in net.parameters()]
    return net, torch.optim.SGD(net.parameters(), lr=_RATE), start


def _check_large_norm(trial: Trial, training_step: Answer) -> None:
    """Take a step whose gradients are smaller than the limit and must not change."""
    net, optimizer, start = _net_and_optimizer(trial)
    X, y = _batch(trial)
    step = training_step, net, optimizer, [(X.clone(), y.clone())], _LARGE_NORM
    trial.observe(_take_steps, *step)
    expected, _ = _reference(start, [(X, y)], clip=False)
    difference = _difference([parameter.detach() for parameter in net.parameters()], expected)
    trial.expect(difference < 0.05 * _difference(expected, start), "always-clipped")


def _batch(trial: Trial) -> tuple[Tensor, Tensor]:
    X = 4 * trial.normal(8, 4, device=trial.device)
    return X, trial.integers(0, 3, (8,), device=trial.device)


def _take_steps(
    trial: Trial,
    training_step: Answer,
    net: nn.Sequential,
    optimizer: torch.optim.Optimizer,
    batches: _Batches,
    max_norm: float,
) -> tuple[Scaler, list[Any], set[str], list[torch.dtype], list[bool]]:
    """Take a step per batch; return the scaler, the losses and the methods that were called.

    Also return the dtypes of the first layer's results, and whether each backward pass ran under
    autocast.
    """
    dtypes: list[torch.dtype] = []
    net[0].register_forward_hook(lambda layer, given, result: dtypes.append(result.dtype))
    autocast_in_backward: list[bool] = []
    net[0].weight.register_hook(
        lambda _: autocast_in_backward.append(torch.is_autocast_enabled("cuda"))
    )
    scaler, losses = Scaler(), []
    for X, y in batches:
        losses.append(trial.result_of(training_step, net, optimizer, scaler, X, y, max_norm))
        # Without an update, the scaler raises an error in the second step.
        if not {"scale", "step", "update"} <= scaler.calls:
            break
        # Multiply the remaining gradients, so that they change the next step noticeably.
        for parameter in net.parameters():
            if parameter.grad is not None:
                parameter.grad *= _SCALE * _LEFTOVER_FACTOR
    return scaler, losses, scaler.calls, dtypes, autocast_in_backward


def _scale_before_and_after(
    trial: Trial,
    training_step: Answer,
    net: nn.Module,
    optimizer: torch.optim.Optimizer,
    scaler: Scaler,
    X: Tensor,
    y: Tensor,
) -> tuple[float, float]:
    """Take a step; return the scale before and after it."""
    before = scaler.get_scale()
    trial.call(training_step, net, optimizer, scaler, X, y, _MAX_NORM)
    return before, scaler.get_scale()


def _reference(
    start: list[Tensor], batches: _Batches, *, clip: bool = True, keep_gradients: bool = False
) -> tuple[list[Tensor], list[float]]:
    """Return the weights after two steps in float32, and the losses; optionally with a mistake."""
    weights = [value.clone().requires_grad_() for value in start]
    losses = []
    for X, y in batches:
        for weight in weights:
            weight.grad = (
                weight.grad * _LEFTOVER_FACTOR
                if keep_gradients and weight.grad is not None
                else None
            )
        hidden = F.linear(X, weights[0], weights[1]).relu()
        loss = F.cross_entropy(F.linear(hidden, weights[2], weights[3]), y)
        loss.backward()
        losses.append(loss.item())
        if clip:
            nn.utils.clip_grad_norm_(weights, _MAX_NORM)
        with torch.no_grad():
            for weight in weights:
                weight -= _RATE * weight.grad
    return [weight.detach() for weight in weights], losses


def _difference(first: list[Tensor], second: list[Tensor]) -> float:
    return max((a - b).abs().max().item() for a, b in zip(first, second, strict=True))


def _check_weights(
    trial: Trial,
    weights: list[Tensor],
    start: list[Tensor],
    expected: list[Tensor],
    batches: _Batches,
) -> None:
    tolerance = 0.05 * _difference(expected, start)
    if _difference(weights, expected) < tolerance:
        return
    if not all(weight.isfinite().all() for weight in weights):
        raise trial.wrong("different-weights")
    change = _difference(weights, start)
    trial.expect(change > 0, "weights-unchanged")
    trial.expect(change > tolerance, "clipped-before-unscaling")
    unclipped, _ = _reference(start, batches, clip=False)
    trial.expect(_difference(weights, unclipped) > 0.05 * _difference(unclipped, start), "no-clip")
    accumulated, _ = _reference(start, batches, keep_gradients=True)
    trial.expect(_difference(weights, accumulated) > tolerance, "gradients-kept")
    raise trial.wrong("different-weights")


def _check_loss(trial: Trial, loss: Any, expected: float) -> None:
    is_scalar = isinstance(loss, Tensor) and loss.dim() == 0
    trial.expect(is_scalar, "not-a-tensor", what=describe(loss))
    trial.expect(loss.dtype == torch.float32, "loss-in-half-precision", found=loss.dtype)
    value = loss.detach().item()
    trial.expect(value < 100 * expected, "scaled-loss")
    trial.expect(abs(value - expected) <= 0.05 * expected, "different-loss")
    trial.expect(not loss.requires_grad, "loss-has-graph")
