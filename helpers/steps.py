"""Training steps of the classic network in the configurations that lesson 05 compares.

A `StepConfig` is the difference from the classic script; calling a `TrainingStep` runs one step in
that setting, including loading the data.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torchvision import transforms

from helpers.loaders import ResidentLoader
from helpers.networks import ClassicNet
from helpers.torchvision_cifar10 import InMemoryCIFAR10

CLASSIC_LR, CLASSIC_BATCH = 0.001, 4
TRANSFORM = transforms.Compose(
    [transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]
)


@dataclass(frozen=True)
class StepConfig:
    """How to train; the defaults are those of the classic script."""

    batch_size: int = CLASSIC_BATCH
    resident: bool = False  # images on the device; otherwise two workers
    losses_on_device: bool = False  # otherwise .item(), which waits, in each step
    channels_last: bool = False
    bf16: bool = False
    fused: bool = False
    compiled: bool = False
    one_thread: bool = False


def scaled_lr(batch_size: int) -> float:
    """Return the learning rate for a batch size: proportional to it, up to a limit.

    With twice the batch size, half as many steps are each twice as large (Goyal et al., 2017).
    Above 0.1, training the classic network with momentum 0.9 becomes unstable.
    """
    return min(CLASSIC_LR * batch_size / CLASSIC_BATCH, 0.1)


def classic_loader(
    images: Tensor, labels: Tensor, batch_size: int, *, workers: int = 2
) -> DataLoader[tuple[Tensor, Tensor]]:
    """Return the classic script's loader: torchvision's dataset and transforms, shuffled."""
    dataset = InMemoryCIFAR10(images, labels, TRANSFORM)
    return DataLoader(dataset, batch_size=batch_size, shuffle=True, num_workers=workers)


def cycle(loader: Iterable[tuple[Tensor, Tensor]]) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the batches of one epoch after another, endlessly."""
    while True:
        yield from loader


def truncate_to_full_batches(
    images: Tensor, labels: Tensor, batch_size: int
) -> tuple[Tensor, Tensor]:
    """Return a multiple of `batch_size` of the images; raise ValueError if there are too few."""
    count = len(labels) // batch_size * batch_size
    if not count:
        raise ValueError(f"{len(labels)} images do not fill one batch of {batch_size}.")
    return images[:count], labels[:count]


Phase = Callable[[str], contextlib.AbstractContextManager[object]]


class TrainingStep:
    """Runs one training step per call with one config; has its own network, data and optimizer.

    Images are uint8 `(N, 3, 32, 32)` and labels int64 `(N,)`, on the CPU.
    """

    def __init__(
        self, config: StepConfig, images: Tensor, labels: Tensor, device: torch.device | str = "cpu"
    ) -> None:
        self.config, self.device = config, torch.device(device)
        self.layout = torch.channels_last if config.channels_last else torch.contiguous_format
        self.net = ClassicNet().to(self.device, memory_format=self.layout)
        # All batches have the same size, so dynamic shapes are not needed.
        self.call_net = torch.compile(self.net, dynamic=False) if config.compiled else self.net
        parameters, lr = self.net.parameters(), scaled_lr(config.batch_size)
        self.optimizer = torch.optim.SGD(parameters, lr, momentum=0.9, fused=config.fused or None)
        make = partial(ResidentLoader, device=device) if config.resident else classic_loader
        self.batches = cycle(make(images, labels, config.batch_size))
        self.running_loss: float | Tensor = 0.0

    def __call__(self, phase: Phase = contextlib.nullcontext) -> None:
        """Run one step; `phase` wraps each of its parts: data, forward, backward, optimizer."""
        threads = torch.get_num_threads()
        if self.config.one_thread:
            torch.set_num_threads(1)
        try:
            with phase("data"):
                images, labels = next(self.batches)
                images = images.to(self.device, memory_format=self.layout)
                labels = labels.to(self.device)
            with phase("forward"):
                self.optimizer.zero_grad()
                with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.bf16):
                    loss = F.cross_entropy(self.call_net(images), labels)
            with phase("backward"):
                loss.backward()
            with phase("optimizer"):
                self.optimizer.step()
                on_device = self.config.losses_on_device
                self.loss = loss.detach() if on_device else loss.item()
                self.running_loss += self.loss
        finally:
            if self.config.one_thread:
                torch.set_num_threads(threads)
