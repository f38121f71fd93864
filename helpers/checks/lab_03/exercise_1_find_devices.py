"""Lab 03, exercise 1: the devices of parameters, buffers and optimizer state."""

import torch
from torch import nn

from helpers.checks.lab_03.shared import build
from helpers.checks.plain import first

answers = "find_devices(net, optimizer)"
points = 2
success = "You can tell where all the tensors of a network are."
section = "What moves with a network, and what does not"


def cases(draw):
    for optimizer in ("SGD", "Adam"):
        case = {"optimizer": optimizer, "gpu": draw.device, "seed": draw.randrange(2**31)}
        yield {**case, "inner": draw.device, "outer": "cpu"}
        yield {**case, "inner": "cpu", "outer": draw.device}


def collect(call, case, find_devices):
    net, optimizer = build(case, steps=1)
    net = nn.Sequential(net[:1].to(case.inner), *net[1:].to(case.outer))
    net[1].running_var = net[1].running_var.to(case.gpu)
    if case.inner == "cpu":
        optimizer.load_state_dict(optimizer.state_dict())
    optimizer.state[net[0][0].weight]["seen"] = 7  # some optimizers also keep Python numbers
    return call(find_devices, net, optimizer)


def right(case):
    # The steps were taken on the CPU, and in one case, the state followed the outer layers.
    state = {"cpu", case.outer}
    devices = {"parameters": {"cpu", case.gpu}, "buffers": {case.outer, case.gpu}, "state": state}
    return {kind: set(map(torch.device, names)) for kind, names in devices.items()}


def are_sets(value, case):
    is_right = isinstance(value, dict) and {*value} == {*right(case)}
    return is_right and all(
        isinstance(d, set | frozenset) and {*map(type, d)} <= {torch.device} for d in value.values()
    )


def join(values):
    return " and ".join(sorted(map(str, values))) or "none"


returns = ("not-three-sets", are_sets)
mistakes = {
    "missing": lambda f: first(
        (missing := devices - f.value[kind])
        and {"kind": kind, "missing": join(missing), "found": join(f.value[kind])}
        for kind, devices in f.right.items()
    ),
    "too-many": lambda f: first(
        (extra := f.value[kind] - devices) and {"kind": kind, "extra": join(extra)}
        for kind, devices in f.right.items()
    ),
}
hints = """
not-three-sets: `find_devices` returns {found}, not a dictionary of three sets of `torch.device`.
    -> Its keys are the strings `parameters`, `buffers` and `state`, and each value is a set.
missing: Your set for `{kind}` has {found}, but some of these tensors are on {missing}.
    -> Do you look at all of them? Buffers are not parameters, and `optimizer.state` maps each
    parameter to another dictionary.
too-many: None of the network's {kind} is on {extra}, but your set for them contains it.
    -> What else do you count as {kind}?
"""
