"""Lab 03, exercise 1: `find_devices`."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from helpers.checks.lab_03.shared import lab, make_optimizer, state_of
from helpers.checks.trial import Answer, Trial, describe
from helpers.language import translate


@lab.exercise(1, points=2, right="You can tell where all the tensors of a network are.")
def exercise_1(trial: Trial, find_devices: Answer) -> None:
    """`find_devices(net, optimizer)`: the devices of parameters, buffers and state."""
    here, there = trial.devices[0], trial.devices[-1]
    kinds = {
        "parameters": "parameters-missing",
        "buffers": "buffers-missing",
        "state": "state-missing",
    }
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
                # The state of some optimizers has plain numbers too.
                if steps:
                    optimizer.state[net[0][0].weight]["seen"] = 7
                result = trial.result_of(find_devices, net, optimizer)
                _check_sets(trial, result)
                for kind, hint in kinds.items():
                    missing, extra = expected[kind] - result[kind], result[kind] - expected[kind]
                    shown = _listed(result[kind])
                    trial.expect(not missing, hint, missing=_listed(missing), found=shown)
                    trial.expect(not extra, "too-many", kind=kind, extra=_listed(extra))


def _check_sets(trial: Trial, result: Any) -> None:
    whole = isinstance(result, Mapping) and set(result) == {"parameters", "buffers", "state"}
    found = describe(result)
    if isinstance(result, Mapping):
        found = translate("one with the keys {keys}", keys=_listed(result))
    trial.expect(whole, "not-three-sets", found=found)
    for kind, devices in result.items():
        found = translate("one whose `{kind}` is {what}", kind=kind, what=describe(devices))
        trial.expect(isinstance(devices, set | frozenset), "not-three-sets", found=found)
        for device in devices:
            good = isinstance(device, torch.device)
            trial.expect(good, "not-devices", kind=kind, found=repr(device))


def _listed(things: Any) -> str:
    return " and ".join(sorted(map(str, things))) or "none"


def _step_on_ones(net: nn.Module, optimizer: torch.optim.Optimizer, count: int) -> None:
    for _ in range(count):
        for parameter in net.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        optimizer.zero_grad()
