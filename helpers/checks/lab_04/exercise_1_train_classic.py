"""Lab 04, exercise 1: the check of `train_classic`, and its hints."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_04.shared import CLASSIC, EDITS, Batches, devices_of, lab, same_weights
from helpers.networks import ClassicNet

NOT_A_NET = Hint(
    "not-the-network",
    "`train_classic` returns a {what}; the trained network is asked for.",
    "What does the script that was given return? Keep that line.",
    CLASSIC,
)

STAYED = Hint(
    "net-on-cpu",
    "There is a GPU, and the network that comes back lies on {found}.",
    "Which line decides where the arithmetic happens, and what is `device` there?",
    EDITS,
)

ONLY_WITH_GPU = Hint(
    "needs-a-gpu",
    "On a machine without a GPU, `train_classic` {what}.",
    "Name the device inside the function, and ask the machine which one it has. Nothing else in "
    "the script should say which device it is.",
    EDITS,
)

CARRIED_BACK = Hint(
    "carried-back",
    "Your loop carries {bytes} bytes from the GPU back to the CPU.",
    "Where does the loss compare the answers with the labels? Which of the two has to travel, so "
    "that it does so on the GPU?",
    EDITS,
)

OTHER_TRAINING = Hint(
    "other-training",
    "The network comes back with other weights than the script that was given would learn.",
    "Three edits are enough, and none of them changes what is computed. Compare the rest with the "
    "script: the optimizer, the order of the lines, how many batches are used.",
    CLASSIC,
)

NOT_TRAINED = Hint(
    "not-trained",
    "The network comes back with the weights it had before.",
    "Whose parameters did the optimizer get, and are they those of the network that you call?",
    EDITS,
)


@lab.exercise(1, points=3, right="Three edits, and the same training happens on the GPU.")
def exercise_1(trial: Trial, train_classic: Callable[..., Any]) -> None:
    """`train_classic(net, batches)`: the classic script, on the GPU if there is one."""
    torch.manual_seed(trial.seed)
    net = ClassicNet()
    sizes = [4] * trial.random.randint(2, 4) + [trial.random.randint(1, 3)]
    batches = [(trial.normal(n, 3, 32, 32), trial.integers(0, 10, (n,))) for n in sizes]
    expected = _classic_reference(copy.deepcopy(net), batches)
    on_gpu = copy.deepcopy(net)
    with trial.watch() as watch:
        result = trial.call(train_classic, on_gpu, batches)
    trial.expect_result(result)
    trial.expect(isinstance(result, nn.Module), NOT_A_NET, what=type(result).__name__)
    found = ", ".join(sorted(map(str, devices_of(result))))
    trial.expect(all(d.type == "cuda" for d in devices_of(result)), STAYED, found=found)
    # A loss is fetched in some ways: four bytes, or eight.
    back = [m.bytes for m in watch.moves if m.source.type == "cuda" and m.bytes > 8]
    trial.expect(not back, CARRIED_BACK, bytes=sum(back))
    trial.expect(not same_weights(result, net), NOT_TRAINED)
    trial.expect(same_weights(result, expected), OTHER_TRAINING)
    with trial.machine_with(0):
        outcome = trial.outcome(train_classic, copy.deepcopy(net), batches)
        if outcome.error is not None:
            told = str(outcome.error).splitlines()[0][:120]
            raise ONLY_WITH_GPU.of(what=f"stops with {type(outcome.error).__name__}: {told}")
        trial.expect_result(outcome.value)
        here = devices_of(outcome.value)
        trial.expect(here == {torch.device("cpu")}, ONLY_WITH_GPU, what="still wants a GPU")


def _classic_reference(net: nn.Module, batches: Batches) -> nn.Module:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for inputs, targets in batches:
        optimizer.zero_grad()
        F.cross_entropy(net(inputs), targets).backward()
        optimizer.step()
    return net
