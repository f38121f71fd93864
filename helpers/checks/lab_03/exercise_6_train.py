"""Lab 03, exercise 6: the check of `train`, and its hints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.checks import hints
from helpers.checks.core import Hint, NotRight, Trial
from helpers.checks.lab_03.shared import IN_PLACE, NET_STAYS, OPTIMIZER, lab, on_cpu
from helpers.networks import ClassicNet

_BATCH = "The batch does not come along"

IMAGES_BEHIND = Hint(
    "images-behind",
    "`net` is on {net}, but the images stayed on {other}: the first layer sees both.",
    "The network moves in place, a tensor does not. Who keeps the images that have moved?",
    _BATCH,
)

LABELS_BEHIND = Hint(
    "labels-behind",
    "`net` is on {net}, but the labels stayed on {other}: the loss sees both.",
    "A batch is two tensors.",
    _BATCH,
)

NOT_TRAINED = Hint(
    "not-trained",
    "After `train`, the network that was handed in has the weights that it had before.",
    "Which network does your function train, and whose parameters has the optimizer?",
    IN_PLACE,
)

OTHER_TRAINING = Hint(
    "other-training",
    "After `train`, the weights are not those that the given code arrives at on the CPU.",
    "Only places have to change. Compare your function with the one that was given, line by line.",
    OPTIMIZER,
)

OTHER_MEAN = Hint(
    "other-mean",
    "`train` returns {found}; the mean loss, as a Python number, is another.",
    "What is added to `total`, and what becomes of it at the end?",
    _BATCH,
)


@lab.exercise(6, points=3, right="The classic network trains where you ask it to.", seconds=30)
def exercise_6(trial: Trial, train: Callable[..., Any]) -> None:
    """`train(net, batches, device)`: the classic network, on the device."""
    sizes = [trial.random.randint(2, 4), trial.random.randint(2, 4), 1]
    batches = [(trial.normal(n, 3, 32, 32), trial.integers(0, 10, (n,))) for n in sizes]
    seed = trial.random.randrange(2**31)
    torch.manual_seed(seed)
    reference = ClassicNet()
    before = {name: tensor.clone() for name, tensor in reference.state_dict().items()}
    mean = _train_on_cpu(reference, batches)
    for place in trial.devices:
        torch.manual_seed(seed)
        net = ClassicNet().to("cpu" if place.type == "cuda" else trial.device)
        given = [(images.clone(), labels.clone()) for images, labels in batches]
        outcome = trial.outcome(train, net, given, place)
        if outcome.error is not None:
            raise _why_not_trained(trial, outcome.error, net, place)
        trial.expect_result(outcome.value)
        found = next(net.parameters()).device
        trial.expect(found == place, NET_STAYS, name="train", wanted=place, found=found)
        state = on_cpu(net.state_dict())
        trained = not all(torch.equal(state[name], before[name]) for name in state)
        trial.expect(trained, NOT_TRAINED)
        way = _distance(reference.state_dict(), before)
        trial.expect(_distance(reference.state_dict(), state) < way / 10, OTHER_TRAINING)
        number = isinstance(outcome.value, float) and abs(outcome.value - mean) < 0.02
        trial.expect(number, OTHER_MEAN, found=repr(outcome.value))


def _why_not_trained(
    trial: Trial, error: Exception, net: nn.Module, wanted: torch.device
) -> NotRight:
    found, text = next(net.parameters()).device, str(error)
    why = trial.why(error)
    if why.hint is hints.DEVICE_ERROR and found != wanted:
        return NET_STAYS.of(name="train", wanted=wanted, found=found)
    if "target is on" in text:
        return LABELS_BEHIND.of(net=found, other="cpu")
    if "Input type" in text and "FloatTensor" in text:
        return IMAGES_BEHIND.of(net=found, other="cpu")
    return why


def _train_on_cpu(net: nn.Module, batches: list[tuple[Tensor, Tensor]]) -> float:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    total = 0.0
    for images, labels in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(batches)


def _distance(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> float:
    """How far apart two states on the CPU are, over all their numbers."""
    return sum(float(((one[name] - other[name]) ** 2).sum()) for name in one) ** 0.5
