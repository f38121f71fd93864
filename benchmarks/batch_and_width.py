"""Training time per image against batch size, width and depth, on a machine's CPU and GPU.

A step is the forward pass, backward pass and optimizer step on a batch that is already on the
device. It does not include data loading.
"""

from collections.abc import Callable
from pathlib import Path

import torch
from torch.nn import functional as F

from benchmarks._recording import devices, merge_records, record
from helpers import cifar10
from helpers.loaders import normalize
from helpers.networks import ScaledClassicNet
from helpers.timing import measure as measure_time

BATCH_SIZES = (4, 16, 64, 256, 1024, 4096)
WIDTHS = {"cpu": (1, 2, 4, 8, 16), "other": (1, 2, 4, 8, 16, 32)}
DEPTHS = (1, 2, 4, 8)
BATCH_SIZE = 64  # for the width and depth curves
ROUNDS = 5
SECONDS = 0.5


def measure(cifar10_root: Path) -> dict[str, object]:
    """Return seconds per image, as medians with quartiles, for each curve and device."""
    images, labels = cifar10.load(cifar10_root).train
    new_records = []
    for device in devices():
        widths = WIDTHS.get(device.type, WIDTHS["other"])
        results = {
            "rounds": ROUNDS,
            "command": "python -m benchmarks batch_and_width",
            "batch_size_of_width_and_depth": BATCH_SIZE,
            "batch": _curve(
                BATCH_SIZES, lambda size, d=device: _step(images, labels, d, batch_size=size)
            ),
            "width": _curve(widths, lambda size, d=device: _step(images, labels, d, width=size)),
            "depth": _curve(DEPTHS, lambda size, d=device: _step(images, labels, d, depth=size)),
        }
        new_records.append(record(device, results))
    return merge_records("batch_and_width", "seconds per image in a training step", new_records)


def _curve(sizes: tuple[int, ...], make_step: Callable) -> dict[str, list]:
    points = []
    for size in sizes:
        step, batch_size, device = make_step(size)
        timing = measure_time(step, device, runs=ROUNDS, seconds=SECONDS)
        points.append([value / batch_size for value in (timing.median, *timing.quartiles)])
    return {"sizes": list(sizes), "seconds": points}


def _step(images, labels, device: torch.device, *, batch_size: int = BATCH_SIZE, width=1, depth=1):
    net = ScaledClassicNet(width, depth).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    inputs, targets = normalize(images[:batch_size]).to(device), labels[:batch_size].to(device)

    def step() -> None:
        optimizer.zero_grad()
        F.cross_entropy(net(inputs), targets).backward()
        optimizer.step()

    return step, batch_size, device
