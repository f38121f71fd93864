"""Lab 03, exercise 1: `find_devices`."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from helpers.checks.descriptions import describe
from helpers.checks.lab_03.shared import lab, make_optimizer, state_of
from helpers.checks.trial import Answer, Trial
from helpers.language import translate


@lab.exercise(1, points=2, success_message="You can tell where all the tensors of a network are.")
def exercise_1(trial: Trial, find_devices: Answer) -> None:
    """`find_devices(net, optimizer)`: the devices of parameters, buffers and state."""
    main_device, other_device = trial.devices[0], trial.devices[-1]
    hints = {
        "parameters": "parameters-missing",
        "buffers": "buffers-missing",
        "state": "state-missing",
    }
    for name in trial.random.sample(["SGD", "Adam"], 2):
        for steps in (1, 0):
            for first, last, buffers in (
                (main_device, other_device, main_device),
                (other_device, main_device, main_device),
            ):
                net = nn.Sequential(nn.Sequential(nn.Linear(3, 4)), nn.ReLU(), nn.BatchNorm1d(4))
                net.append(nn.Linear(4, 2))
                optimizer = make_optimizer(name, net)
                _step_on_ones(net, optimizer, steps)
                net[0].to(first)
                net[3].to(last)
                net[2].to(last)
                net[2].running_var = net[2].running_var.to(buffers)
                if first == other_device:
                    optimizer.load_state_dict(optimizer.state_dict())
                expected = {
                    "parameters": {p.device for p in net.parameters()},
                    "buffers": {b.device for b in net.buffers()},
                    "state": {t.device for t in state_of(optimizer).values()},
                }
                # Some optimizers also keep Python numbers in their state.
                if steps:
                    optimizer.state[net[0][0].weight]["seen"] = 7
                result = trial.result_of(find_devices, net, optimizer)
                _check_sets(trial, result)
                for kind, hint in hints.items():
                    missing, extra = expected[kind] - result[kind], result[kind] - expected[kind]
                    devices_text = _join_with_and(result[kind])
                    trial.expect(
                        not missing, hint, missing=_join_with_and(missing), found=devices_text
                    )
                    trial.expect(not extra, "too-many", kind=kind, extra=_join_with_and(extra))


def _check_sets(trial: Trial, result: Any) -> None:
    has_all_keys = isinstance(result, Mapping) and set(result) == {"parameters", "buffers", "state"}
    description = describe(result)
    if isinstance(result, Mapping):
        description = translate("a dictionary with the keys {keys}", keys=_join_with_and(result))
    trial.expect(has_all_keys, "not-three-sets", found=description)
    for kind, devices in result.items():
        description = translate(
            "a dictionary whose `{kind}` is {what}", kind=kind, what=describe(devices)
        )
        trial.expect(isinstance(devices, set | frozenset), "not-three-sets", found=description)
        for device in devices:
            is_device = isinstance(device, torch.device)
            trial.expect(is_device, "not-devices", kind=kind, found=repr(device))


def _join_with_and(values: Any) -> str:
    return " and ".join(sorted(map(str, values))) or "none"


def _step_on_ones(net: nn.Module, optimizer: torch.optim.Optimizer, count: int) -> None:
    for _ in range(count):
        for parameter in net.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        optimizer.zero_grad()
