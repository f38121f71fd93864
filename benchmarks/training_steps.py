"""Training the classic network, with data loading: the course's `train` and the classic script.

Baseline: the classic script after startup, with PIL transforms, 2 worker processes and
`loss.item()` in each step. Workers start at the beginning of each epoch, so few timed steps include
their startup. The course's `train` with `ResidentLoader` is timed including its setup: each run is
a new call.
"""

from pathlib import Path
from typing import Any

import torch

from benchmarks._recording import Results, devices
from helpers import cifar10
from helpers.loaders import ResidentLoader
from helpers.networks import ClassicNet
from helpers.steps import StepConfig, TrainingStep, scaled_lr, truncate_to_full_batches
from helpers.timing import compare
from helpers.training import train

DESCRIPTION = "images per second in training"
IMAGES = {4: 4096, 64: 8192, 512: 16384}  # per run, by batch size
ROUNDS = 5
SECONDS = 5.0  # total for each variant
# Per timed call. Warm-up calls use up the batches that the workers prefetched between calls.
CLASSIC_STEPS = 8
BASELINE = "classic script"


def measure(cifar10_root: Path | str) -> Results:
    """Return each variant's images per second and ratio to the classic script, by batch size."""
    dataset = cifar10.load(cifar10_root)
    device = devices()[-1]
    rates: dict[str, dict[str, Any]] = {}
    for batch_size, count in IMAGES.items():
        part = truncate_to_full_batches(*dataset.train, batch_size)
        classic = TrainingStep(StepConfig(batch_size=batch_size), *part, device)
        subset = dataset.train.images[:count], dataset.train.labels[:count]
        resident = ResidentLoader(*subset, batch_size, device=device)
        variants = {
            BASELINE: lambda step=classic: [step() for _ in range(CLASSIC_STEPS)],
            "course": lambda loader=resident: _train(loader, device),
            "course, fused SGD": lambda loader=resident: _train(loader, device, fused=True),
        }
        units = dict.fromkeys(variants, count) | {BASELINE: CLASSIC_STEPS * batch_size}
        comparison = compare(variants, device, rounds=ROUNDS, seconds=SECONDS, units=units)
        for name in variants:
            ratio = comparison.ratio(name, BASELINE)
            rates.setdefault(name, {})[str(batch_size)] = {
                "images_per_second": round(1 / comparison[name].median),
                "ratio_median": round(ratio.median, 2),
                "ratio_range": [round(min(ratio.values), 2), round(max(ratio.values), 2)],
            }
    results = {
        "baseline": BASELINE,
        "images_per_run": {str(batch_size): count for batch_size, count in IMAGES.items()},
        "rounds": ROUNDS,
        "data": dataset.provenance,
        "variants": rates,
    }
    return {device: results}


def _train(loader: ResidentLoader, device: torch.device, fused: bool | None = None) -> None:
    net = ClassicNet().to(device)
    rate = scaled_lr(loader.batch_size)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9, fused=fused)
    train(net, loader, optimizer, epochs=1)
