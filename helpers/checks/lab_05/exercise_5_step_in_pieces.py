"""Lab 05, exercise 5: the check of `step_in_pieces`, and its hints."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_05.shared import LARGER, lab

NO_STEP = Hint(
    "no-step",
    "After the call the network has the weights it had before.",
    "Go through your lines in order: when are the gradients made, used, cleared?",
    LARGER,
)

STEP_A_PIECE = Hint(
    "step-a-piece",
    "You make a step after each piece: {pieces} small steps instead of a large one.",
    "`backward` adds to the gradients that are there. When are all of them together?",
    LARGER,
)

LAST_PIECE_ONLY = Hint(
    "last-piece-only",
    "Your step goes along the gradient of the last piece alone.",
    "How often do you clear the gradients, and what is lost each time?",
    LARGER,
)

SUM_OF_MEANS = Hint(
    "sum-of-means",
    "Your step is about {pieces} times as long as that of the whole batch.",
    "The loss of a piece is a mean over its images. What share of the whole batch are they?",
    LARGER,
)

PIECES_ALIKE = Hint(
    "pieces-alike",
    "Every piece counts the same in your step, and the last one is smaller than the others.",
    "An image should count the same, whichever piece it is in.",
    LARGER,
)

OLD_GRADIENTS = Hint(
    "old-gradients",
    "There were gradients from before in the network, and your step goes along them too.",
    "What do you have to do before the first piece?",
    LARGER,
)

OTHER_STEP = Hint(
    "other-step",
    "After the call the weights are not those that one step with the whole batch would give.",
    "Compare with the whole batch at once: the same loss, the same optimizer, one step.",
    LARGER,
)


@lab.exercise(5, points=3, right="One step of a large batch, in the memory of a small one.")
def exercise_5(trial: Trial, step_in_pieces: Callable[..., Any]) -> None:
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
        given = copy.deepcopy(net)  # copies no gradients
        weights = [n / sum(sizes) for n in sizes]
        trial.call(step_in_pieces, net, torch.optim.SGD(net.parameters(), lr=0.2), pieces)
        alike = [1 / len(sizes)] * len(sizes)
        ways: dict[Hint | None, nn.Module] = {
            None: _stepped(given, pieces, weights),
            NO_STEP: given,
            LAST_PIECE_ONLY: _stepped(given, pieces[-1:], [1]),
            SUM_OF_MEANS: _stepped(given, pieces, [1] * len(sizes)),
            PIECES_ALIKE: _stepped(given, pieces, alike),
            OLD_GRADIENTS: _stepped(given, [pieces[0], *pieces], [1, *weights]),
        }
        small = given
        for piece in pieces:
            small = _stepped(small, [piece], [1])
        ways[STEP_A_PIECE] = small
        hint = next((way for way, other in ways.items() if _same_weights(net, other)), OTHER_STEP)
        if hint is not None:
            raise hint.of(pieces=len(pieces))


def _stepped(
    net: nn.Module, pieces: list[tuple[torch.Tensor, torch.Tensor]], weights: list[float]
) -> nn.Module:
    """A copy of `net` after one step along the weighted gradients of the pieces."""
    net = copy.deepcopy(net)
    net.zero_grad()
    for (inputs, targets), weight in zip(pieces, weights, strict=True):
        (weight * F.cross_entropy(net(inputs), targets)).backward()
    torch.optim.SGD(net.parameters(), lr=0.2).step()
    return net


def _same_weights(one: nn.Module, other: nn.Module) -> bool:
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return all(torch.allclose(a, b, rtol=1e-3, atol=1e-5) for a, b in pairs)
