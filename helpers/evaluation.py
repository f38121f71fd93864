"""How good a network is: overall, for each class, and what it takes for what."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from helpers.devices import device_of


@dataclass(frozen=True)
class Evaluation:
    """Counts of a network's answers, int64 on the CPU: row = true class, column = predicted."""

    confusion: Tensor

    @property
    def images(self) -> int:
        """How many images were judged."""
        return int(self.confusion.sum())

    @property
    def correct(self) -> int:
        """How many of them the network got right."""
        return int(self.confusion.diagonal().sum())

    @property
    def accuracy(self) -> float:
        """The share of images that the network got right, from 0 to 1."""
        return self.correct / self.images

    def per_class(self, classes: Sequence[str]) -> dict[str, float]:
        """Return each class's accuracy from 0 to 1, nan for a class without an image."""
        shares = self.confusion.diagonal().double() / self.confusion.sum(1)
        return dict(zip(classes, shares.tolist(), strict=True))


@torch.no_grad()
def evaluate(
    net: nn.Module, loader: Iterable[tuple[Tensor, Tensor]], num_classes: int = 10
) -> Evaluation:
    """Judge `net` on every batch of `loader`, on the device where `net` lies.

    Batches may have any size and lie on any device; they are moved to the network's. Counts stay on
    the device until the end, so that nothing waits for it. The network's mode (train or eval) is
    put back.

    Raises:
        ValueError: the loader is empty, or the network lies on several devices.
    """
    device = device_of(net)
    training = net.training
    counts = torch.zeros(num_classes * num_classes, dtype=torch.int64, device=device)
    net.eval()
    try:
        for images, labels in loader:
            predicted = net(images.to(device, non_blocking=True)).argmax(1)
            pairs = labels.to(device, non_blocking=True) * num_classes + predicted
            counts += torch.bincount(pairs, minlength=num_classes * num_classes)
    finally:
        net.train(training)
    if not counts.any():
        raise ValueError("there was no image to evaluate on: the loader gave no batch.")
    return Evaluation(counts.cpu().reshape(num_classes, num_classes))
