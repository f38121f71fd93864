"""torchvision's CIFAR-10 dataset, filled with images that are already in memory."""

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torchvision import datasets


class InMemoryCIFAR10(datasets.CIFAR10):
    """`torchvision.datasets.CIFAR10` without the files: one PIL image at a time, transformed.

    Everything but the constructor, which takes images, uint8 `(N, 3, 32, 32)`, and labels, int64
    `(N,)`, is torchvision's. Use it where a program would write `datasets.CIFAR10(root, train=True,
    download=True, transform=transform)` and the images may come from another source.
    """

    def __init__(
        self, images: Tensor, labels: Tensor, transform: Callable[[Any], Any] | None = None
    ) -> None:
        self.data = images.permute(0, 2, 3, 1).contiguous().numpy()
        self.targets = labels.tolist()
        self.transform, self.target_transform = transform, None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self):,} images>"
