"""Evaluate a classifier: accuracy overall and per class, and the confusion matrix."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from helpers.devices import device_of


@dataclass(frozen=True)
class Evaluation:
    """A confusion matrix, int64 on the CPU: row = true class, column = predicted class."""

    confusion: Tensor

    @property
    def accuracy(self) -> float:
        """Fraction of correct predictions, from 0 to 1."""
        return int(self.confusion.diagonal().sum()) / int(self.confusion.sum())

    def per_class(self, classes: Sequence[str]) -> dict[str, float]:
        """Return the accuracy of each class, from 0 to 1; NaN for a class without images."""
        accuracies = self.confusion.diagonal().double() / self.confusion.sum(1)
        return dict(zip(classes, accuracies.tolist(), strict=True))


@torch.no_grad()
def evaluate(
    net: nn.Module, loader: Iterable[tuple[Tensor, Tensor]], num_classes: int = 10
) -> Evaluation:
    """Evaluate `net` on every batch of `loader`, on the device of `net`.

    Batches may have any size and be on any device. The counts stay on the device until the end, so
    the CPU does not wait for each batch. The mode of the network (train or eval) is restored. A
    loader without images raises ValueError.
    """
    device, training = device_of(net), net.training
    counts = torch.zeros(num_classes**2, dtype=torch.int64, device=device)
    net.eval()
    try:
        for images, labels in loader:
            predicted = net(images.to(device, non_blocking=True)).argmax(1)
            pairs = labels.to(device, non_blocking=True) * num_classes + predicted
            counts.index_add_(0, pairs, torch.ones_like(pairs))  # `bincount` would wait twice
    finally:
        net.train(training)
    if not counts.any():
        raise ValueError("the loader yielded no images to evaluate on.")
    return Evaluation(counts.cpu().reshape(num_classes, num_classes))
