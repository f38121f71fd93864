"""Two ways to feed a network: worker processes that prepare one image after the other, and images
that already lie on the device.

Both give float32 images in [-1, 1], `(batch, 3, 32, 32)`, and int64 labels, `(batch,)`; both draw
the order of an epoch from the seed and the epoch's number alone, so training can be resumed at any
step and sees the very batches it would have seen.
"""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

# Images that are converted at a time. On a CPU few enough for its caches and for memory that is
# used again: the loader alone is 3 to 6 times as fast as with 4096. On a GPU each request has its
# price, so there are fewer of them; 4096 float images are 50 MB.
CHUNK_ON_CPU, CHUNK = 512, 4096


def normalize(images: Tensor) -> Tensor:
    """Return uint8 images as float32 in [-1, 1]: what ToTensor and Normalize(0.5, 0.5) compute."""
    return images.float().div_(255).sub_(0.5).div_(0.5)


class EpochOrder(Sampler[int]):
    """The order in which an epoch visits `count` images; the same seed and epoch give the same."""

    def __init__(self, count: int, *, shuffle: bool = True, seed: int = 0) -> None:
        self.count = count
        self.shuffle = shuffle
        self.seed = seed
        self.epoch = 0
        self.skip = 0

    def start_at(self, epoch: int, skip: int = 0) -> None:
        """Make the next iteration visit epoch `epoch` without its first `skip` images."""
        self.epoch, self.skip = epoch, skip

    def indices(self) -> Tensor:
        """Return the int64 indices `(count - skip,)` of the next iteration, on the CPU."""
        if not self.shuffle:
            return torch.arange(self.skip, self.count)
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch)
        return torch.randperm(self.count, generator=generator)[self.skip :]

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices().tolist())

    def __len__(self) -> int:
        return self.count


class ResidentLoader:
    """Batches of a data set that lies whole on `device`, so that training copies nothing to it.

    Args:
        images: uint8 `(N, 3, 32, 32)`; kept as uint8 on the device (CIFAR-10's 50,000 take 154 MB).
        labels: int64 `(N,)`.
        batch_size: images a batch; the last one of an epoch may be smaller.
        device: where images, labels and batches lie.

    Raises:
        ValueError: the batch size is no positive whole number, images and labels differ in number,
            or the images are not uint8.
    """

    def __init__(
        self,
        images: Tensor,
        labels: Tensor,
        batch_size: int,
        *,
        device: torch.device | str = "cpu",
        shuffle: bool = True,
        seed: int = 0,
    ) -> None:
        _check(images, labels, batch_size)
        self.images = images.to(device)
        self.labels = labels.to(device)
        self.batch_size = batch_size
        self.sampler = EpochOrder(len(labels), shuffle=shuffle, seed=seed)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        order = self.sampler.indices().to(self.labels.device)
        if not len(order):
            return  # split would give one batch of nothing
        chunk = CHUNK_ON_CPU if self.images.device.type == "cpu" else CHUNK
        for part in order.split(max(1, chunk // self.batch_size) * self.batch_size):
            # index_select copies whole images; images[part] would go number by number.
            images = normalize(self.images.index_select(0, part))
            labels = self.labels.index_select(0, part)
            yield from zip(
                images.split(self.batch_size), labels.split(self.batch_size), strict=True
            )

    def __len__(self) -> int:
        return -(-self.sampler.count // self.batch_size)


class NormalizedImages(Dataset[tuple[Tensor, int]]):
    """Images one at a time, normalized when asked for, as a worker process prepares them."""

    def __init__(self, images: Tensor, labels: Tensor) -> None:
        self.images = images
        self.labels = labels.tolist()

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return normalize(self.images[index]), self.labels[index]

    def __len__(self) -> int:
        return len(self.labels)


def worker_loader(
    images: Tensor,
    labels: Tensor,
    batch_size: int,
    *,
    workers: int = 2,
    shuffle: bool = True,
    seed: int = 0,
    pin_memory: bool = False,
) -> DataLoader[tuple[Tensor, Tensor]]:
    """Return torch's DataLoader over the images, with `workers` processes; batches lie on the CPU.

    Raises:
        ValueError: the batch size is no positive whole number, images and labels differ in number,
            or the images are not uint8.
    """
    _check(images, labels, batch_size)
    return DataLoader(
        NormalizedImages(images, labels),
        batch_size=batch_size,
        sampler=EpochOrder(len(labels), shuffle=shuffle, seed=seed),
        num_workers=workers,
        pin_memory=pin_memory,
    )


def _check(images: Tensor, labels: Tensor, batch_size: int) -> None:
    if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size < 1:
        raise ValueError(f"batch_size must be a whole number of at least 1, not {batch_size!r}.")
    if len(images) != len(labels):
        raise ValueError(f"{len(images)} images cannot go with {len(labels)} labels.")
    if images.dtype != torch.uint8:
        raise ValueError(f"images must be uint8, as decoded; these are {images.dtype}.")
