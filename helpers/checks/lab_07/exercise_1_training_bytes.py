"""Lab 07, exercise 1: `training_bytes`."""

import torch
from torch import nn

from helpers.checks.comparing import find_devices
from helpers.checks.descriptions import describe, is_int
from helpers.checks.lab_07.shared import lab
from helpers.checks.trial import Answer, Trial
from helpers.memory import allocated_size


@lab.exercise(1, points=2, success_message="You know what training keeps before you start it.")
def exercise_1(trial: Trial, training_bytes: Answer) -> None:
    """`training_bytes(net, states)`: weights, buffers, gradients and states, in blocks."""
    # The first weight is a multiple of 512 bytes, which is not rounded up further.
    sizes = [trial.random.randrange(*bounds) for bounds in ((16, 65, 16), (8, 65, 8), (3, 60))]
    for norm, frozen, shared, double in (
        (0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (1, 1, 0, 0), (0, 0, 0, 1),
    ):  # fmt: skip
        net = _network(sizes, norm=norm, frozen=frozen, shared=shared)
        if double:
            net.double()
        trained = [parameter.requires_grad for parameter in net.parameters()]
        for states in (0, 1, 2):
            expected = _expected(net, states)
            result = trial.result_of(training_bytes, net, states)
            devices = find_devices(net)
            trial.expect(devices == {torch.device("cpu")}, "net-moved", found=devices.pop())
            same = trained == [parameter.requires_grad for parameter in net.parameters()]
            trial.expect(same, "trained-changed")
            trial.expect(is_int(result), "not-an-int", found=describe(result))
            details = {"states": states, "expected": f"{expected:,}", "found": f"{result:,}"}
            if result == expected:
                continue
            trial.expect(not double, "different-dtype", **details)
            if states == 0 and not (norm or frozen or shared):
                # In later cases, another mistake may give the same number by coincidence.
                unrounded = _expected(net, states, block=False)
                trial.expect(result != unrounded, "not-rounded", **details)
                trial.expect(result != allocated_size(unrounded), "rounded-once", **details)
            trial.expect(not shared, "counted-twice", **details)
            trial.expect(not frozen, "frozen", **details)
            trial.expect(not norm, "buffers", **details)
            trial.expect(states == 0, "states", **details)
            raise trial.wrong("wrong-bytes", **details)


def _network(sizes: list[int], *, norm: int, frozen: int, shared: int) -> nn.Module:
    first, hidden, last = sizes
    net = nn.Sequential(nn.Linear(first, hidden), nn.ReLU(), nn.Linear(hidden, last))
    if norm:
        net.insert(1, nn.BatchNorm1d(hidden))
    if frozen:
        net[0].requires_grad_(False)
    if shared:
        tied = nn.Linear(hidden, last)
        tied.weight = net[-1].weight
        net.append(tied)
    return net


def _expected(net: nn.Module, states: int, block: bool = True) -> int:
    size = allocated_size if block else int
    total = sum(size(tensor.nbytes) for tensor in [*net.parameters(), *net.buffers()])
    trained = [parameter for parameter in net.parameters() if parameter.requires_grad]
    return total + sum((1 + states) * size(parameter.nbytes) for parameter in trained)
