"""Training time per image against batch size, width and depth, on a machine's CPU and GPU.

A step is the forward pass, backward pass and optimizer step on a batch that is already on the
device. It does not include data loading.
"""

from pathlib import Path

import torch
from torch.nn import functional as F

from benchmarks._recording import Results, devices
from helpers import cifar10
from helpers.cifar10 import Images
from helpers.loaders import normalize
from helpers.networks import ScaledClassicNet
from helpers.timing import measure as measure_time

DESCRIPTION = "seconds per image in a training step"
BATCH_SIZES = (4, 16, 64, 256, 1024, 4096)
WIDTHS = {"cpu": (1, 2, 4, 8, 16), "other": (1, 2, 4, 8, 16, 32)}
DEPTHS = (1, 2, 4, 8)
BATCH_SIZE = 64  # for the width and depth curves
ROUNDS = 5
SECONDS = 0.5


def measure(cifar10_root: Path | str) -> Results:
    """Return seconds per image, as medians with quartiles, for each curve and device."""
    train = cifar10.load(cifar10_root).train
    results: Results = {}
    for device in devices():
        results[device] = {"rounds": ROUNDS, "batch_size_of_width_and_depth": BATCH_SIZE}
        widths = WIDTHS.get(device.type, WIDTHS["other"])
        for curve, option, sizes in (
            ("batch", "batch_size", BATCH_SIZES),
            ("width", "width", widths),
            ("depth", "depth", DEPTHS),
        ):
            seconds = [_seconds_per_image(train, device, **{option: size}) for size in sizes]
            results[device][curve] = {"sizes": list(sizes), "seconds": seconds}
    return results


def _seconds_per_image(
    train: Images,
    device: torch.device,
    batch_size: int = BATCH_SIZE,
    width: int = 1,
    depth: int = 1,
) -> list[float]:
    """Return the median, lower and upper quartile."""
    net = ScaledClassicNet(width, depth).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    inputs = normalize(train.images[:batch_size]).to(device)
    targets = train.labels[:batch_size].to(device)

    def step() -> None:
        optimizer.zero_grad()
        F.cross_entropy(net(inputs), targets).backward()
        optimizer.step()

    timing = measure_time(step, device, runs=ROUNDS, seconds=SECONDS)
    return [seconds / batch_size for seconds in (timing.median, *timing.quartiles)]
