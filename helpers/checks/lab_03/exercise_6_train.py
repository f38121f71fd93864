"""Lab 03, exercise 6: `train`."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.checks import hints
from helpers.checks.hints import NotRight
from helpers.checks.lab_03.shared import lab, on_cpu
from helpers.checks.trial import Answer, Trial
from helpers.networks import ClassicNet


@lab.exercise(6, points=3, right="The classic network trains where you ask it to.", seconds=30)
def exercise_6(trial: Trial, train: Answer) -> None:
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
        called = trial.try_call(train, net, given, place)
        if called.error is not None:
            raise _why_not_trained(trial, called.error, net, place)
        trial.expect_result(called.value)
        found = next(net.parameters()).device
        trial.expect(found == place, "net-stays", name="train", wanted=place, found=found)
        state = on_cpu(net.state_dict())
        trained = not all(torch.equal(state[name], before[name]) for name in state)
        trial.expect(trained, "not-trained")
        way = _distance(reference.state_dict(), before)
        trial.expect(_distance(reference.state_dict(), state) < way / 10, "other-training")
        number = isinstance(called.value, float) and abs(called.value - mean) < 0.02
        trial.expect(number, "other-mean", found=repr(called.value))


def _why_not_trained(
    trial: Trial, error: Exception, net: nn.Module, wanted: torch.device
) -> NotRight:
    found, text = next(net.parameters()).device, str(error)
    why = trial.why(error)
    if why.hint == hints.DEVICE_ERROR and found != wanted:
        return trial.wrong("net-stays", name="train", wanted=wanted, found=found)
    if "target is on" in text:
        return trial.wrong("labels-behind", net=found, other="cpu")
    if "Input type" in text and "FloatTensor" in text:
        return trial.wrong("images-behind", net=found, other="cpu")
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
