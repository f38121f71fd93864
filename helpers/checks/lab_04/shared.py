"""The `Lab` of lab 04 and its hints, and a shared network, batches and training epoch."""

from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.hints import read_hints
from helpers.checks.lab import Lab
from helpers.checks.trial import Trial

lab = Lab("04_cifar10_on_gpu", read_hints(Path(__file__).parent), seconds=20)

Batches = list[tuple[torch.Tensor, torch.Tensor]]


class ObservedNet(nn.Module):
    """A network to evaluate that records its mode, gradient tracking and device at each call."""

    def __init__(self, features: int, classes: int = 10) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.linear = nn.Linear(features, classes)
        self.modes: list[bool] = []
        self.gradients: list[bool] = []
        self.devices: list[torch.device] = []

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Map `(N, 3, 2, 2)` to `(N, classes)`."""
        self.modes.append(self.training)
        self.gradients.append(torch.is_grad_enabled())
        self.devices.append(images.device)
        return self.linear(self.drop(images.flatten(1)))


def observed_network(
    trial: Trial, sizes: list[int], classes: int = 10
) -> tuple[ObservedNet, Batches]:
    """Return a network in evaluation mode and batches for it.

    It classifies about 60% of the images correctly, and all of those in the last two batches.
    """
    torch.manual_seed(trial.seed)
    net = ObservedNet(12, classes).eval()
    batches = []
    for batch_index, size in enumerate(sizes):
        images = trial.normal(size, 3, 2, 2) * 3
        with torch.no_grad():
            labels = net(images).argmax(1)
        wrong = torch.rand(size, generator=trial.generator) < 0.4
        wrong &= torch.tensor(batch_index < len(sizes) - 2)
        labels = torch.where(wrong, (labels + 1) % classes, labels)
        batches.append((images, labels))
    net.modes.clear()
    net.gradients.clear()
    net.devices.clear()
    return net, batches


@torch.no_grad()
def confusion(net: ObservedNet, batches: Batches, classes: int = 10) -> torch.Tensor:
    """Return the confusion matrix, row = true class, column = prediction; `net` is on the CPU."""
    modes, gradients, devices = list(net.modes), list(net.gradients), list(net.devices)
    pairs = torch.cat([labels * classes + net(images).argmax(1) for images, labels in batches])
    net.modes[:], net.gradients[:], net.devices[:] = modes, gradients, devices
    return torch.bincount(pairs, minlength=classes * classes).reshape(classes, classes)


def epoch_reference(
    net: nn.Module, optimizer: torch.optim.Optimizer, batches: Batches, *, zero: bool = True
) -> float:
    """Train for one correct epoch and return the mean loss; `zero=False` keeps gradients."""
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
