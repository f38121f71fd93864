"""Lab 04, exercise 1: `train_classic`."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.comparing import find_devices, same_weights
from helpers.checks.descriptions import describe, one_line
from helpers.checks.lab_04.shared import Batches, lab
from helpers.checks.trial import Answer, Trial
from helpers.language import translate
from helpers.networks import ClassicNet


@lab.exercise(1, points=3, success_message="Three edits, and the same training runs on the GPU.")
def exercise_1(trial: Trial, train_classic: Answer) -> None:
    """`train_classic(net, batches)`: the classic script, on the GPU if there is one."""
    torch.manual_seed(trial.seed)
    net = ClassicNet()
    sizes = [4] * trial.random.randint(2, 4) + [trial.random.randint(1, 3)]
    batches = [(trial.normal(n, 3, 32, 32), trial.integers(0, 10, (n,))) for n in sizes]
    expected = _classic_reference(copy.deepcopy(net), batches)
    on_gpu = copy.deepcopy(net)
    devices: set[torch.device] = set()
    modes: set[bool] = set()

    def observe(net: nn.Module, inputs: tuple[torch.Tensor]) -> None:
        devices.add(inputs[0].device)
        modes.add(net.training)

    on_gpu.register_forward_pre_hook(observe)
    with trial.watch() as watch:
        result = trial.result_of(train_classic, on_gpu, batches)
    trial.expect(isinstance(result, nn.Module), "not-the-network", what=describe(result))
    device_names = ", ".join(sorted(map(str, find_devices(result))))
    trial.expect(
        all(d.type == "cuda" for d in find_devices(result)), "net-on-cpu", found=device_names
    )
    device_names = ", ".join(sorted(map(str, devices))) or translate("another network")
    trial.expect(not any(d.type == "cpu" for d in devices), "trained-on-cpu", found=device_names)
    trial.expect(False not in modes, "evaluation-mode")
    # Reading the loss copies four or eight bytes.
    copied_bytes = [m.bytes for m in watch.moves if m.source.type == "cuda" and m.bytes > 8]
    trial.expect(not copied_bytes, "copied-back", bytes=sum(copied_bytes))
    trial.expect(not same_weights(result, net), "not-trained")
    trial.expect(not same_weights(on_gpu, net), "trained-a-copy")
    trial.expect(same_weights(result, expected), "different-training")
    with trial.machine_with(0):
        outcome = trial.try_call(train_classic, copy.deepcopy(net), batches)
        if outcome.error is not None:
            error_text = translate("raises {error}", error=one_line(outcome.error))
            raise trial.wrong("needs-a-gpu", what=error_text)
        trial.expect_result(outcome.value)
        result_devices = find_devices(outcome.value)
        gpu_text = translate("still uses a GPU")
        trial.expect(result_devices == {torch.device("cpu")}, "needs-a-gpu", what=gpu_text)


def _classic_reference(net: nn.Module, batches: Batches) -> nn.Module:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for inputs, targets in batches:
        optimizer.zero_grad()
        F.cross_entropy(net(inputs), targets).backward()
        optimizer.step()
    return net
