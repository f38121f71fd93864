"""Augmentation on the device: shifts and flips for training, six views for evaluation.

There are no worker processes and no transfers; everything stays on the device.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from helpers.fast_cifar10.recipes import Settings

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)  # of each channel of CIFAR-10
VIEWS = [  # (mirrored, shift in pixels, weight): the views whose logits are averaged
    (mirrored, shift, 0.25 if shift == 0 else 0.125)
    for mirrored in (False, True)
    for shift in (0, -1, 1)
]


def on_device(images: Tensor, labels: Tensor, device: torch.device | str) -> tuple[Tensor, Tensor]:
    """Return images `(N, 3, 32, 32)` as `(N, 32, 32, 3)`, and labels, on `device`."""
    return images.to(device).permute(0, 2, 3, 1).contiguous(), labels.to(device)


def augment(images: Tensor, chosen: Tensor, mirrored: Tensor, shifts: Tensor) -> Tensor:
    """Return shifted and flipped images, using one indexing operation for the whole batch.

    `images`, uint8 `(N, 32, 32, 3)`, are indexed by `chosen`, int64 `(B,)`. Those that are
    `mirrored`, bool `(B,)`, are flipped from left to right, and all are moved up and left by
    `shifts`, int64 `(B, 2)`; at the border, the image is reflected. The result is normalized
    float32 `(B, 3, 32, 32)`, channels last in memory.
    """
    size = images.shape[1]
    positions = torch.arange(size, device=images.device) + shifts[:, :, None]
    positions = (size - 1) - ((size - 1) - positions.abs()).abs()  # -1 becomes 1, 32 becomes 30
    rows, columns = positions.unbind(1)
    columns = torch.where(mirrored[:, None], size - 1 - columns, columns)
    pixels = images[chosen[:, None, None], rows[:, :, None], columns[:, None, :]]
    # Python's numbers are arguments of the kernels. Tensors would be copied to the device in each
    # call: under torch.compile, functools.cache has no effect.
    channels = zip(pixels.unbind(-1), MEAN, STD, strict=True)
    normalized = [(channel - 255 * mean) / (255 * std) for channel, mean, std in channels]
    return torch.stack(normalized, dim=-1).permute(0, 3, 1, 2)


def batches(
    images: Tensor, labels: Tensor, settings: Settings, augment: Callable[..., Tensor] = augment
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield augmented batches endlessly, each epoch in a new random order."""
    count, device = len(labels), labels.device
    size = min(settings.batch_size, count)
    initial_flips = torch.rand(count, device=device) < 0.5
    epoch = 0
    while True:
        if settings.flip == "alternating":  # every other epoch flips the image
            mirrored = initial_flips ^ bool(epoch % 2)
        else:
            mirrored = (torch.rand(count, device=device) < 0.5) & (settings.flip == "random")
        limit = settings.translate
        shifts = torch.randint(-limit, limit + 1, (count, 2), device=device)
        order = torch.randperm(count, device=device)
        for chosen in order[: count // size * size].split(size):
            yield augment(images, chosen, mirrored[chosen], shifts[chosen]), labels[chosen]
        epoch += 1


def augmented_views(
    images: Tensor, *, views: bool, augment: Callable[..., Tensor] = augment
) -> Iterator[tuple[float, Tensor]]:
    """Yield weight and images of each of `VIEWS`; without `views`, the images unchanged."""
    indices = torch.arange(len(images), device=images.device)
    for mirrored, shift, weight in VIEWS if views else [(False, 0, 1.0)]:
        mirrors = torch.full_like(indices, mirrored, dtype=torch.bool)
        shifts = torch.full((len(images), 2), shift, device=images.device)
        yield weight, augment(images, indices, mirrors, shifts)
