"""Lab 03, exercise 1: the devices of parameters, buffers and optimizer state."""

import torch
from torch import nn

from helpers.checks.lab_03.shared import make_optimizer
from helpers.checks.plain import describe, first
from helpers.language import translate

answers = "find_devices(net, optimizer)"
points = 2
success = "You can tell where all the tensors of a network are."
section = "A module has no device"

KINDS = ("parameters", "buffers", "state")


def cases(draw):
    gpu, cpu = draw.devices[0], draw.devices[-1]
    for name in draw.sample(["SGD", "Adam"], 2):
        for steps in (1, 0):
            for inner, outer in ((gpu, cpu), (cpu, gpu)):
                yield {"name": name, "steps": steps, "inner": inner, "outer": outer, "gpu": gpu}


def collect(call, case, find_devices):
    net = nn.Sequential(nn.Sequential(nn.Linear(3, 4)), nn.ReLU(), nn.BatchNorm1d(4))
    net.append(nn.Linear(4, 2))
    optimizer = make_optimizer(net, case.name)
    for _ in range(case.steps):
        for parameter in net.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        optimizer.zero_grad()
    net[0].to(case.inner)
    net[2:].to(case.outer)
    net[2].running_var = net[2].running_var.to(case.gpu)
    if case.inner == "cpu":
        optimizer.load_state_dict(optimizer.state_dict())
    # Some optimizers also keep Python numbers in their state.
    if case.steps:
        optimizer.state[net[0][0].weight]["seen"] = 7
    return call(find_devices, net, optimizer)


def right(case):
    # The state of the inner layers is on the CPU, where the steps were taken.
    state = {"cpu"} | ({case.outer} if case.inner == "cpu" else set())
    devices = {case.inner, case.outer}, {case.outer, case.gpu}, state if case.steps else set()
    return {kind: set(map(torch.device, names)) for kind, names in zip(KINDS, devices, strict=True)}


def describe_wrong(value):
    """Return what the value is, if not a dictionary of three sets."""
    if not isinstance(value, dict):
        return describe(value)
    if {*value} != {*KINDS}:
        return translate("a dictionary with the keys {keys}", keys=join(value))
    return first(
        not isinstance(devices, set | frozenset)
        and translate("a dictionary whose `{kind}` is {what}", kind=kind, what=describe(devices))
        for kind, devices in value.items()
    )


def join(values):
    return " and ".join(sorted(map(str, values))) or "none"


def missing(kind):
    """Return the row for devices that are not in the set."""
    return lambda f: (
        (devices := f.right[kind] - f.value[kind])
        and {"missing": join(devices), "found": join(f.value[kind])}
    )


returns = ("not-three-sets", lambda value, case: True)
side_effects = {
    "not-three-sets": lambda f: (what := describe_wrong(f.value)) and {"found": what},
    "not-devices": lambda f: first(
        not isinstance(device, torch.device) and {"kind": kind, "found": repr(device)}
        for kind, devices in f.value.items()
        for device in devices
    ),
    "parameters-missing": missing("parameters"),
    "buffers-missing": missing("buffers"),
    "state-missing": missing("state"),
    "too-many": lambda f: first(
        (extra := f.value[kind] - f.right[kind]) and {"kind": kind, "extra": join(extra)}
        for kind in KINDS
    ),
}
hints = """
not-three-sets: `find_devices` returns {found}, but it should return a dictionary of three sets.
    -> Its keys are the strings `parameters`, `buffers` and `state`, and each value is a set.
    see: A module has no device
not-devices: The set for `{kind}` contains {found}, but it should contain values of type
    `torch.device`.
    -> What is the `device` attribute of a tensor? Keep it without converting it.
    see: A module has no device
parameters-missing: Some of the network's parameters are on {missing}, but your set has {found}.
    -> How many of the parameters do you look at, and do they include those of inner modules?
    see: Modules move in place, tensors do not
buffers-missing: Some of the network's buffers are on {missing}, but your set has {found}.
    -> The running means of batch normalization are not parameters. How do you iterate over them?
    see: What moves with a network, and what does not
state-missing: Some of the optimizer's state is on {missing}, but your set has {found}.
    -> `optimizer.state` maps each parameter to another dictionary. Do you look at all of its
    values?
    see: Gradients and the optimizer
too-many: None of the network's {kind} is on {extra}, but your set for them contains it.
    -> What else do you count as {kind}?
    see: What moves with a network, and what does not
"""
