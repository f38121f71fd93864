"""Lab 07, exercise 4: `checkpointed`."""

import copy
from typing import Any

from torch import Tensor, nn

from helpers.checks.comparing import close
from helpers.checks.descriptions import describe
from helpers.checks.lab_07.shared import PeakMeter, both_close, lab, same_gradients
from helpers.checks.trial import Answer, Trial


class _Layer(nn.Module):
    """A layer that records each of its forward passes."""

    def __init__(self, number: int, width: int, runs: list[int]) -> None:
        super().__init__()
        self.number, self.runs = number, runs
        self.inner = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))

    def __deepcopy__(self, memo: dict) -> "_Layer":
        twin = _Layer(self.number, self.inner[0].in_features, [])
        twin.load_state_dict(self.state_dict())
        return twin.to(self.inner[0].weight.device)

    def forward(self, X: Tensor) -> Tensor:
        """Map `(N, width)` to `(N, width)`."""
        self.runs.append(self.number)
        return self.inner(X)


@lab.exercise(
    4, points=3, success_message="Each layer keeps only its input, and the gradients are the same."
)
def exercise_4(trial: Trial, checkpointed: Answer) -> None:
    """`checkpointed(layers, X)`: the layers one after another, each with a checkpoint."""
    for leaf in (False, True):
        count, width = trial.random.randint(3, 5), trial.random.randrange(16, 33, 8)
        runs: list[int] = []
        layers = nn.ModuleList(_Layer(number, width, runs) for number in range(count))
        layers.to(trial.device)
        twins = copy.deepcopy(layers)
        X = trial.normal(1024, width, device=trial.device, requires_grad=leaf)
        twin_X = X.detach().clone().requires_grad_(leaf)
        weights = trial.normal(1024, width, device=trial.device)
        result, kept_bytes, order, recomputed, requires_grad = trial.observe(
            _both_passes, checkpointed, layers, X, weights
        )
        right_shape = isinstance(result, Tensor) and result.shape == X.shape
        trial.expect(right_shape, "not-scores", found=describe(result))
        in_training = all(module.training for module in layers.modules())
        trial.expect(in_training, "evaluation-mode", name="checkpointed")
        trial.expect(requires_grad <= leaf, "input-changed")
        expected = twin_X
        for twin in twins:
            expected = twin(expected)
        trial.expect(order == list(range(count)), "wrong-order", found=order)
        trial.expect(close(result, expected), "different-result")
        trial.expect(result.requires_grad, "no-gradients")
        (expected * weights).sum().backward()
        trial.expect(same_gradients(layers, twins), "different-gradients")
        trial.expect(not leaf or both_close(X.grad, twin_X.grad), "different-gradients")
        trial.expect(recomputed, "nothing-recomputed")
        all_recomputed = sorted(recomputed) == list(range(count))
        trial.expect(
            all_recomputed, "not-all-recomputed", found=sorted(set(recomputed)), count=count
        )
        trial.expect(recomputed == list(reversed(range(count))), "recomputed-together")
        # The inputs of the layers and the result; checkpoints also save generator states.
        max_bytes = (count + 0.5) * X.nbytes
        trial.expect(
            kept_bytes <= max_bytes,
            "keeps-more",
            kept=f"{kept_bytes:,}",
            most=f"{int(max_bytes):,}",
        )


def _both_passes(
    trial: Trial, checkpointed: Answer, layers: nn.ModuleList, X: Tensor, weights: Tensor
) -> tuple[Any, int, list[int], list[int], bool]:
    """Return the result, the bytes kept for the backward pass, and the layers run in each pass.

    Also return whether X requires gradients after the call.
    """
    runs = layers[0].runs
    with PeakMeter() as meter:
        meter.exclude(X)
        result = trial.result_of(checkpointed, layers, X)
        order, kept_bytes = list(runs), meter.live
    runs.clear()
    if isinstance(result, Tensor) and result.shape == X.shape and result.requires_grad:
        (result * weights).sum().backward()
    return result, kept_bytes, order, list(runs), X.requires_grad
