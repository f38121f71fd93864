"""Lab 03, exercise 2: the check of `Ranker`, and its hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_03.shared import ALONG, NOT_A_MODULE, OTHER_SCORES, close, lab

PLAIN_TENSOR = Hint(
    "plain-tensor",
    "After `net.to(...)`, `net.{name}` is still on {found}: the module passes it by.",
    "To the module, it is an attribute like any other. Which kinds of tensors does a module know "
    "as its own, and which of them is this one?",
    ALONG,
)

HIDDEN_LAYERS = Hint(
    "hidden-layers",
    "The layers in `net.{name}` are unknown to the module: it does not look into a {what}.",
    "They would not move, would not be trained and would not be saved. torch has a container of "
    "its own for them.",
    ALONG,
)

NOT_LEARNED = Hint(
    "not-learned",
    "After a step of training, `{name}` is what it was before: no optimizer gets hold of it.",
    "It should be learned by gradient descent. What does a module call a tensor that is?",
    ALONG,
)

LEARNED_TOO = Hint(
    "learned-too",
    "After a step of training, `mean` is another: the optimizer has changed it.",
    "It should move and be saved, and not be learned. What does a module call such a tensor?",
    ALONG,
)

NOT_SAVED = Hint(
    "not-saved",
    "`{name}` is not in `net.state_dict()`, so it would not be saved.",
    "Keep the names that were given. Where does your class keep this tensor, and how did it tell "
    "the module?",
    ALONG,
)


class GivenRanker(nn.Module):
    """What exercise 2 hands out."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.mean = torch.full((features,), 0.5)
        self.gain = torch.ones(features)
        self.heads = [nn.Linear(features, classes) for _ in range(2)]

    def forward(self, X: Tensor) -> Tensor:
        """Map `(N, features)` to `(N, classes)`."""
        X = (X - self.mean) * self.gain
        return sum(head(X) for head in self.heads)


@lab.exercise(2, points=3, right="What the module knows as its own comes along, and is saved.")
def exercise_2(trial: Trial, Ranker: Callable[..., Any]) -> None:
    """`Ranker(features, classes)`: its mean, its gain and its heads move with it."""
    for place in trial.devices:
        features, classes = trial.random.sample(range(2, 9), 2)
        seed = trial.random.randrange(2**31)
        torch.manual_seed(seed)
        net = trial.call(Ranker, features, classes)
        trial.expect(isinstance(net, nn.Module), NOT_A_MODULE, what=type(net).__name__)
        torch.manual_seed(seed)
        given = GivenRanker(features, classes)
        X = trial.normal(trial.random.randint(1, 5), features)
        _check_scores(trial, net, X, given(X), "Ranker")
        trial.call(net.to, place)
        for name, value in _attributes(net):
            if isinstance(value, Tensor):
                stayed = value.device != place
                trial.expect(not stayed, PLAIN_TENSOR, name=name, found=value.device)
            hidden = _modules_in(value) - set(net.modules())
            trial.expect(not hidden, HIDDEN_LAYERS, name=name, what=type(value).__name__)
        _check_scores(trial, net, X.to(place), given(X), "Ranker")
        for name in ("mean", "gain"):
            trial.expect(name in net.state_dict(), NOT_SAVED, name=name)
        _check_training(trial, net, X.to(place))


def _check_scores(trial: Trial, net: nn.Module, X: Tensor, expected: Tensor, name: str) -> None:
    scores = trial.call(net, X)
    trial.expect_result(scores)
    same = isinstance(scores, Tensor) and scores.shape == expected.shape
    trial.expect(same and close(scores, expected), OTHER_SCORES, name=name)


def _attributes(net: nn.Module) -> list[tuple[str, Any]]:
    """What a module and those in it hold and do not know as their own state."""
    everywhere = vars(nn.Module())
    return [
        (name, value)
        for module in net.modules()
        for name, value in vars(module).items()
        if name not in everywhere
    ]


def _modules_in(value: Any) -> set[nn.Module]:
    values = value.values() if isinstance(value, dict) else value
    if not isinstance(value, list | tuple | dict | set):
        return set()
    return {each for each in values if isinstance(each, nn.Module)}


def _check_training(trial: Trial, net: nn.Module, X: Tensor) -> None:
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    learned = [parameter for parameter in net.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(learned, lr=0.5)
    scores = trial.call(net, X)
    ((scores - 3) ** 2).sum().backward()
    optimizer.step()
    for name, tensor in net.state_dict().items():
        changed = not torch.equal(tensor, before[name])
        if name == "mean":
            trial.expect(not changed, LEARNED_TOO)
        else:
            trial.expect(changed, NOT_LEARNED, name=name)
