"""Lab 03, exercise 1: the devices of parameters, buffers and optimizer state."""

import torch
from torch import nn

from helpers.checks.lab_03.shared import build
from helpers.checks.plain import first

answers = "find_devices(net, optimizer)"
points = 2
success = "You can tell where all the tensors of a network are."
section = "What moves with a network, and what does not"

# How many tensors of each kind there are for Adam. In each case, one of them is on a GPU.
COUNTS = {"parameters": 6, "buffers": 3, "state": 18}


def cases(draw):
    case = {"optimizer": "Adam", "gpu": draw.device, "seed": draw.randrange(2**31), "steps": 1}
    moved = [(kind, i) for kind, count in COUNTS.items() for i in range(count)]
    yield from ({**case, "kind": kind, "index": i} for kind, i in moved)
    yield {**case, "kind": "state", "index": 5, "optimizer": "SGD"}
    yield {**case, "kind": "buffers", "index": 0, "steps": 0}


def collect(call, case, find_devices):
    net, optimizer = build(case, steps=case.steps)
    state = [value for entry in optimizer.state.values() for value in entry.values()]
    kinds = net.parameters(), net.buffers(), filter(torch.is_tensor, state)
    tensor = [*dict(zip(COUNTS, kinds, strict=True))[case.kind]][case.index]
    tensor.data = tensor.data.to(case.gpu)
    for entry in optimizer.state.values():
        entry["seen"] = 7  # some optimizers also keep Python numbers
    return call(find_devices, nn.Sequential(net[:1], *net[1:]), optimizer)


def right(case):
    names = {kind: {"cpu", case.gpu} if kind == case.kind else {"cpu"} for kind in COUNTS}
    names["state"] = names["state"] if case.steps else set()
    return {kind: set(map(torch.device, group)) for kind, group in names.items()}


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
