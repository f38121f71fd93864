"""A data loader of images that are already on the device, and the order of an epoch.

The order depends only on the seed and the epoch number, so a run that resumes at any step sees the
same batches as an uninterrupted run.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

# Number of images converted at once. On a CPU, a chunk should fit in the caches: the loader is then
# 3 to 6 times as fast as with 4096. On a GPU, larger chunks need fewer kernel launches; 4096 float
# images take 50 MB.
CHUNK_ON_CPU, CHUNK = 512, 4096


def normalize(images: Tensor) -> Tensor:
    """Return uint8 images as float32 in [-1, 1], as ToTensor and Normalize(0.5, 0.5) do."""
    return images.float().div_(255).sub_(0.5).div_(0.5)


class EpochOrder:
    """The order of `count` images in an epoch, determined by the seed and the epoch."""

    def __init__(self, count: int, *, seed: int = 0) -> None:
        self.count, self.seed = count, seed
        self.epoch = self.skip = 0

    def start_at(self, epoch: int, skip: int = 0) -> None:
        """Make the next iteration start epoch `epoch` after its first `skip` images."""
        self.epoch, self.skip = epoch, skip

    def indices(self) -> Tensor:
        """Return the int64 indices `(count - skip,)` of the next iteration, on the CPU."""
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch)
        return torch.randperm(self.count, generator=generator)[self.skip :]


class ResidentLoader:
    """Yields batches of a dataset that is entirely on `device`, so batches need no transfer.

    A batch is float32 images in [-1, 1], `(batch, 3, 32, 32)`, and int64 labels, `(batch,)`; the
    last batch of an epoch may be smaller. Each epoch has its own random order, which depends on
    `seed`. `images` are uint8 `(N, 3, 32, 32)` and stay uint8 on the device, where
    50,000 take 154 MB. `labels` are int64 `(N,)`. Other types or numbers raise ValueError.
    """

    def __init__(
        self,
        images: Tensor,
        labels: Tensor,
        batch_size: int,
        *,
        device: torch.device | str = "cpu",
        seed: int = 0,
    ) -> None:
        if len(images) != len(labels):
            raise ValueError(f"there are {len(images)} images and {len(labels)} labels.")
        if images.dtype != torch.uint8:
            raise ValueError(f"images must be uint8, not {images.dtype}.")
        self.images, self.labels = images.to(device), labels.to(device)
        self.batch_size = batch_size
        self.sampler = EpochOrder(len(labels), seed=seed)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        order = self.sampler.indices().to(self.labels.device)
        if not len(order):
            return  # split would give one empty batch
        chunk = CHUNK_ON_CPU if self.images.device.type == "cpu" else CHUNK
        for part in order.split(max(1, chunk // self.batch_size) * self.batch_size):
            # Faster than images[part]: index_select copies whole images.
            images = normalize(self.images.index_select(0, part))
            labels = self.labels.index_select(0, part)
            yield from zip(
                images.split(self.batch_size), labels.split(self.batch_size), strict=True
            )

    def __len__(self) -> int:
        return -(-self.sampler.count // self.batch_size)
