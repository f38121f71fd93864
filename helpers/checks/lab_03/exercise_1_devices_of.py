"""Lab 03, exercise 1: the check of `devices_of`, and its hints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_03.shared import ALONG, IN_PLACE, lab, make_optimizer, state_of

_NO_DEVICE = "A module has no device"
_TAKES = "What a network takes in training"

NOT_THREE_SETS = Hint(
    "not-three-sets",
    "`devices_of` returns {found}; a dictionary of three sets is asked for.",
    "Its keys are the strings `parameters`, `buffers` and `state`, and each value is a set.",
    _NO_DEVICE,
)

NOT_DEVICES = Hint(
    "not-devices",
    "In the set of the {kind} lies {found}; sets of `torch.device` are asked for.",
    "What does a tensor answer when you ask it for its device? Keep that, as it comes.",
    _NO_DEVICE,
)

PARAMETERS_MISSING = Hint(
    "parameters-missing",
    "Some of the network's parameters are on {missing}, and your set has {found}.",
    "How many of the parameters do you ask, and do those of inner modules belong to them?",
    IN_PLACE,
)

BUFFERS_MISSING = Hint(
    "buffers-missing",
    "Some of the network's buffers are on {missing}, and your set has {found}.",
    "The running means of batch normalization are no parameters. How do you come by them?",
    ALONG,
)

STATE_MISSING = Hint(
    "state-missing",
    "Some of what the optimizer remembers is on {missing}, and your set has {found}.",
    "`optimizer.state` is a dictionary: for each parameter, another dictionary. Have you looked at "
    "all its values?",
    _TAKES,
)

TOO_MANY = Hint(
    "too-many",
    "Of the network's {kind}, none is on {extra}, and it stands in your set of them.",
    "What else do you count among the {kind}?",
    ALONG,
)


@lab.exercise(1, points=2, right="You can tell where everything lives.")
def exercise_1(trial: Trial, devices_of: Callable[..., Any]) -> None:
    """`devices_of(net, optimizer)`: the devices of parameters, buffers and state."""
    here, there = trial.devices[0], trial.devices[-1]
    kinds = {"parameters": PARAMETERS_MISSING, "buffers": BUFFERS_MISSING, "state": STATE_MISSING}
    for name in trial.random.sample(["SGD", "Adam"], 2):
        for steps in (1, 0):
            for first, last, buffers in ((here, there, here), (there, here, here)):
                net = nn.Sequential(nn.Sequential(nn.Linear(3, 4)), nn.ReLU(), nn.BatchNorm1d(4))
                net.append(nn.Linear(4, 2))
                optimizer = make_optimizer(name, net)
                _step_on_ones(net, optimizer, steps)
                net[0].to(first)
                net[3].to(last)
                net[2].to(last)
                net[2].running_var = net[2].running_var.to(buffers)
                if first == there:
                    optimizer.load_state_dict(optimizer.state_dict())
                expected = {
                    "parameters": {p.device for p in net.parameters()},
                    "buffers": {b.device for b in net.buffers()},
                    "state": {t.device for t in state_of(optimizer).values()},
                }
                # Some optimizers remember plain numbers too.
                if steps:
                    optimizer.state[net[0][0].weight]["seen"] = 7
                result = trial.call(devices_of, net, optimizer)
                trial.expect_result(result)
                _check_sets(trial, result)
                for kind, hint in kinds.items():
                    missing, extra = expected[kind] - result[kind], result[kind] - expected[kind]
                    shown = _listed(result[kind])
                    trial.expect(not missing, hint, missing=_listed(missing), found=shown)
                    trial.expect(not extra, TOO_MANY, kind=kind, extra=_listed(extra))


def _check_sets(trial: Trial, result: Any) -> None:
    whole = isinstance(result, Mapping) and set(result) == {"parameters", "buffers", "state"}
    found = f"a {type(result).__name__}"
    if isinstance(result, Mapping):
        found = f"one with the keys {_listed(result)}"
    trial.expect(whole, NOT_THREE_SETS, found=found)
    for kind, devices in result.items():
        found = f"one whose `{kind}` is a {type(devices).__name__}"
        trial.expect(isinstance(devices, set | frozenset), NOT_THREE_SETS, found=found)
        for device in devices:
            good = isinstance(device, torch.device)
            trial.expect(good, NOT_DEVICES, kind=kind, found=repr(device))


def _listed(things: Any) -> str:
    return " and ".join(sorted(map(str, things))) or "none"


def _step_on_ones(net: nn.Module, optimizer: torch.optim.Optimizer, count: int) -> None:
    for _ in range(count):
        for parameter in net.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        optimizer.zero_grad()
