"""Lab 04, CIFAR-10 on a GPU: what its exercises have in common."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.core import Hint, Lab, Trial

CLASSIC = "The classic script, on the CPU"
EDITS = "Three edits"
GOOD = "How good is it?"
CLASSES = "For each class, and a trap"

KEEPS_GRADIENTS = Hint(
    "keeps-gradients",
    "Gradients were being tracked while you judged the network.",
    "Nothing is learnt here. Which block tells torch so, and is the call of the network inside it?",
    GOOD,
)

MANY_FETCHES = Hint(
    "many-fetches",
    "For {batches} batches, your function takes numbers from the GPU {fetched} times; {enough}.",
    "Which line in your loop makes a Python number of a tensor, or brings it to the CPU? The sum "
    "can lie where the answers are.",
    GOOD,
)

lab = Lab("04_cifar10_on_gpu", seconds=20)

Batches = list[tuple[torch.Tensor, torch.Tensor]]


def same_weights(one: nn.Module, other: nn.Module) -> bool:
    """Whether two networks have the same weights, as far as two devices can agree on them."""
    pairs = zip(one.parameters(), other.parameters(), strict=False)
    return all(torch.allclose(a.cpu(), b.cpu(), rtol=1e-3, atol=2e-4) for a, b in pairs)


def devices_of(net: nn.Module) -> set[torch.device]:
    """Where the parameters of a network are."""
    return {parameter.device for parameter in net.parameters()}


class Judged(nn.Module):
    """A network to evaluate. It notes how it is called: where, in which mode, with gradients."""

    def __init__(self, features: int, classes: int = 10) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.linear = nn.Linear(features, classes)
        self.modes: list[bool] = []
        self.gradients: list[bool] = []

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Map `(N, 3, 2, 2)` to `(N, classes)`."""
        self.modes.append(self.training)
        self.gradients.append(torch.is_grad_enabled())
        return self.linear(self.drop(images.flatten(1)))


def examination(trial: Trial, sizes: list[int], classes: int = 10) -> tuple[Judged, Batches]:
    """A network and batches of which it gets about 6 in 10 right, all in the last two."""
    torch.manual_seed(trial.seed)
    net = Judged(12, classes).eval()
    batches = []
    for place, size in enumerate(sizes):
        images = trial.normal(size, 3, 2, 2) * 3
        with torch.no_grad():
            labels = net(images).argmax(1)
        wrong = torch.rand(size, generator=trial.generator) < 0.4
        wrong &= torch.tensor(place < len(sizes) - 2)
        labels = torch.where(wrong, (labels + 1) % classes, labels)
        batches.append((images, labels))
    net.modes.clear()
    net.gradients.clear()
    return net, batches


@torch.no_grad()
def confusion(net: Judged, batches: Batches, classes: int = 10) -> torch.Tensor:
    """Counts, row = true class, column = answer; the network lies on the CPU."""
    modes, gradients = list(net.modes), list(net.gradients)
    pairs = torch.cat([labels * classes + net(images).argmax(1) for images, labels in batches])
    net.modes[:], net.gradients[:] = modes, gradients
    return torch.bincount(pairs, minlength=classes * classes).reshape(classes, classes)


def epoch_reference(
    net: nn.Module, optimizer: torch.optim.Optimizer, batches: Batches, *, zero: bool = True
) -> float:
    """One epoch as it should be; the mean loss. Without `zero`, gradients pile up."""
    total, count = 0.0, 0
    optimizer.zero_grad()
    for inputs, targets in batches:
        if zero:
            optimizer.zero_grad()
        loss = F.cross_entropy(net(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(targets)
        count += len(targets)
    return total / count
