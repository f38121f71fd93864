"""Lab 03, exercise 2: `Ranker`."""

from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.comparing import close
from helpers.checks.descriptions import describe
from helpers.checks.lab_03.shared import lab
from helpers.checks.trial import Answer, Trial


class GivenRanker(nn.Module):
    """The class given in exercise 2."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.mean = torch.full((features,), 0.5)
        self.gain = torch.ones(features)
        self.heads = [nn.Linear(features, classes) for _ in range(2)]

    def forward(self, X: Tensor) -> Tensor:
        """Map `(N, features)` to `(N, classes)`."""
        X = (X - self.mean) * self.gain
        return sum(head(X) for head in self.heads)


@lab.exercise(
    2, points=3, success_message="Everything that the module registers moves with it and is saved."
)
def exercise_2(trial: Trial, Ranker: Answer) -> None:
    """`Ranker(features, classes)`: its mean, its gain and its heads move with it."""
    for device in trial.devices:
        features, classes = trial.random.sample(range(2, 9), 2)
        seed = trial.random.randrange(2**31)
        torch.manual_seed(seed)
        net = trial.call(Ranker, features, classes)
        trial.expect(isinstance(net, nn.Module), "not-a-module", name="Ranker", what=describe(net))
        torch.manual_seed(seed)
        given = GivenRanker(features, classes)
        X = trial.normal(trial.random.randint(1, 5), features)
        _check_scores(trial, net, X, given(X), "Ranker")
        for hint, details in trial.observe(_hints_for_unmoved, net, device):
            raise trial.wrong(hint, **details)
        _check_scores(trial, net, X.to(device), given(X), "Ranker")
        saved_names = trial.observe(_saved_names, net)
        for name in ("mean", "gain"):
            trial.expect(name in saved_names, "not-saved", name=name)
        for name, has_changed in trial.observe(_changes_by_training, net, X.to(device)):
            if name == "mean":
                trial.expect(not has_changed, "mean-is-learned")
            else:
                trial.expect(has_changed, "not-learned", name=name)


def _check_scores(trial: Trial, net: nn.Module, X: Tensor, expected: Tensor, name: str) -> None:
    scores = trial.result_of(net, X)
    same_shape = isinstance(scores, Tensor) and scores.shape == expected.shape
    trial.expect(same_shape and close(scores, expected), "different-scores", name=name)


def _hints_for_unmoved(trial: Trial, net: Answer, device: torch.device) -> list[tuple[str, dict]]:
    """Move the network; return the hints for the attributes that do not move with it."""
    trial.call(net.to, device)
    hints: list[tuple[str, dict]] = []
    for name, value in _attributes(net):
        if isinstance(value, Tensor) and value.device != device:
            hints.append(("plain-tensor", {"name": name, "found": value.device}))
        if _modules_in(value) - set(net.modules()):
            hints.append(("hidden-layers", {"name": name, "what": describe(value)}))
    return hints


def _saved_names(trial: Trial, net: nn.Module) -> list[str]:
    return list(net.state_dict())


def _attributes(net: nn.Module) -> list[tuple[str, Any]]:
    """Return the attributes of a module and its submodules that torch does not register."""
    standard_names = vars(nn.Module())
    return [
        (name, value)
        for module in net.modules()
        for name, value in vars(module).items()
        if name not in standard_names
    ]


def _modules_in(value: Any) -> set[nn.Module]:
    values = value.values() if isinstance(value, dict) else value
    if not isinstance(value, list | tuple | dict | set):
        return set()
    return {element for element in values if isinstance(element, nn.Module)}


def _changes_by_training(trial: Trial, net: nn.Module, X: Tensor) -> list[tuple[str, bool]]:
    """Take one step, and return for each saved tensor whether it has changed."""
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    parameters = [parameter for parameter in net.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(parameters, lr=0.5)
    scores = trial.call(net, X)
    ((scores - 3) ** 2).sum().backward()
    optimizer.step()
    after = net.state_dict()
    return [(name, not torch.equal(tensor, before[name])) for name, tensor in after.items()]
