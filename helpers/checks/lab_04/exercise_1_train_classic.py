"""Lab 04, exercise 1: `train_classic`."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.comparing import find_devices, same_weights
from helpers.checks.lab_04.shared import Batches, lab
from helpers.checks.trial import Answer, Trial, describe, one_line
from helpers.language import translate
from helpers.networks import ClassicNet


@lab.exercise(1, points=3, right="Three edits, and the same training runs on the GPU.")
def exercise_1(trial: Trial, train_classic: Answer) -> None:
    """`train_classic(net, batches)`: the classic script, on the GPU if there is one."""
    torch.manual_seed(trial.seed)
    net = ClassicNet()
    sizes = [4] * trial.random.randint(2, 4) + [trial.random.randint(1, 3)]
    batches = [(trial.normal(n, 3, 32, 32), trial.integers(0, 10, (n,))) for n in sizes]
    expected = _classic_reference(copy.deepcopy(net), batches)
    on_gpu = copy.deepcopy(net)
    places: set[torch.device] = set()
    on_gpu.register_forward_pre_hook(lambda net, inputs: places.add(inputs[0].device))
    with trial.watch() as watch:
        result = trial.result_of(train_classic, on_gpu, batches)
    trial.expect(isinstance(result, nn.Module), "not-the-network", what=describe(result))
    found = ", ".join(sorted(map(str, find_devices(result))))
    trial.expect(all(d.type == "cuda" for d in find_devices(result)), "net-on-cpu", found=found)
    found = ", ".join(sorted(map(str, places))) or translate("another network")
    trial.expect(not any(d.type == "cpu" for d in places), "trained-on-cpu", found=found)
    # Reading the loss copies four or eight bytes.
    back = [m.bytes for m in watch.moves if m.source.type == "cuda" and m.bytes > 8]
    trial.expect(not back, "copied-back", bytes=sum(back))
    trial.expect(not same_weights(result, net), "not-trained")
    trial.expect(not same_weights(on_gpu, net), "trained-a-copy")
    trial.expect(same_weights(result, expected), "other-training")
    with trial.machine_with(0):
        called = trial.try_call(train_classic, copy.deepcopy(net), batches)
        if called.error is not None:
            stops = translate("stops with {error}", error=one_line(called.error))
            raise trial.wrong("needs-a-gpu", what=stops)
        trial.expect_result(called.value)
        here = find_devices(called.value)
        still = translate("still uses a GPU")
        trial.expect(here == {torch.device("cpu")}, "needs-a-gpu", what=still)


def _classic_reference(net: nn.Module, batches: Batches) -> nn.Module:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for inputs, targets in batches:
        optimizer.zero_grad()
        F.cross_entropy(net(inputs), targets).backward()
        optimizer.step()
    return net
