"""Lab 05, exercise 5: `step_in_pieces`."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.lab_05.shared import lab
from helpers.checks.trial import Answer, Trial


@lab.exercise(5, points=3, right="One step of a large batch, in the memory of a small one.")
def exercise_5(trial: Trial, step_in_pieces: Answer) -> None:
    """`step_in_pieces(net, optimizer, pieces)`: one step, as if the pieces were one batch."""
    for device in (trial.device, torch.device("cpu")):
        torch.manual_seed(trial.seed)
        sizes = [trial.random.randint(6, 9)] * trial.random.randint(3, 5) + [2]
        pieces = [
            (trial.normal(n, 6, device=device) + i, trial.integers(0, 4, (n,), device))
            for i, n in enumerate(sizes)
        ]
        net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4)).to(device)
        F.cross_entropy(net(pieces[0][0]), pieces[0][1]).backward()
        given = copy.deepcopy(net)  # does not copy gradients
        seen: list[tuple[int, bool]] = []
        net.register_forward_pre_hook(
            lambda net, inputs, seen=seen: seen.append((len(inputs[0]), net.training))
        )
        weights = [n / sum(sizes) for n in sizes]
        trial.call(step_in_pieces, net, torch.optim.SGD(net.parameters(), lr=0.2), pieces)
        most = max((count for count, _ in seen), default=0)
        trial.expect(most <= sizes[0], "one-big-batch", found=most, largest=sizes[0])
        trial.expect(all(training for _, training in seen), "evaluation-mode")
        alike = [1 / len(sizes)] * len(sizes)
        ways: dict[str | None, nn.Module] = {
            None: _stepped(given, pieces, weights),
            "no-step": given,
            "last-piece-only": _stepped(given, pieces[-1:], [1]),
            "sum-of-means": _stepped(given, pieces, [1] * len(sizes)),
            "pieces-alike": _stepped(given, pieces, alike),
            "old-gradients": _stepped(given, [pieces[0], *pieces], [1, *weights]),
        }
        small = given
        for piece in pieces:
            small = _stepped(small, [piece], [1])
        ways["step-a-piece"] = small
        hint = next((way for way, other in ways.items() if _same_weights(net, other)), "other-step")
        if hint is not None:
            raise trial.wrong(hint, pieces=len(pieces))


def _stepped(
    net: nn.Module, pieces: list[tuple[torch.Tensor, torch.Tensor]], weights: list[float]
) -> nn.Module:
    """Return a copy of `net` after one step with the weighted gradients of the pieces."""
    net = copy.deepcopy(net)
    net.zero_grad()
    for (inputs, targets), weight in zip(pieces, weights, strict=True):
        (weight * F.cross_entropy(net(inputs), targets)).backward()
    torch.optim.SGD(net.parameters(), lr=0.2).step()
    return net


def _same_weights(one: nn.Module, other: nn.Module) -> bool:
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return all(torch.allclose(a, b, rtol=1e-3, atol=1e-5) for a, b in pairs)
