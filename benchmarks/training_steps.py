"""Training the classic network, with data loading: the course's `train` and the classic script.

Baseline: the classic script after startup, with PIL transforms, 2 worker processes and
`loss.item()` in each step. Workers start at the beginning of each epoch, so few timed steps include
their startup. The course's `train` with `ResidentLoader` is timed including its setup: each run is
a new call.
"""

from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks._recording import devices, merge_records, rates, record
from helpers import cifar10
from helpers.loaders import ResidentLoader
from helpers.networks import ClassicNet
from helpers.steps import StepConfig, TrainingStep, scaled_lr, truncate_to_full_batches
from helpers.timing import compare
from helpers.training import train

IMAGES = {4: 4096, 64: 8192, 512: 16384}  # per run, by batch size
ROUNDS = 5
SECONDS = 5.0  # total for each variant
# Per timed call. Warm-up calls use up the batches that the workers prefetched between calls.
CLASSIC_STEPS = 8
BASELINE = "classic script"


def measure(cifar10_root: Path) -> dict[str, object]:
    """Return each variant's images per second and ratio to the classic script, by batch size."""
    dataset = cifar10.load(cifar10_root)
    device = devices()[-1]
    rates_by_variant: dict[str, dict[str, object]] = {}
    for batch_size, count in IMAGES.items():
        part = truncate_to_full_batches(*dataset.train, batch_size)
        classic = TrainingStep(StepConfig(batch_size=batch_size), *part, device)
        subset = dataset.train.images[:count], dataset.train.labels[:count]
        resident = ResidentLoader(*subset, batch_size, device=device)
        variants: dict[str, Callable[[], object]] = {
            BASELINE: lambda step=classic: _repeat(step, CLASSIC_STEPS),
            "course": lambda loader=resident: _train(loader, device),
            "course, fused SGD": lambda loader=resident: _train(loader, device, fused=True),
        }
        units = dict.fromkeys(variants, count) | {BASELINE: CLASSIC_STEPS * batch_size}
        comparison = compare(variants, device, rounds=ROUNDS, seconds=SECONDS, units=units)
        for name in variants:
            rates_by_variant.setdefault(name, {})[str(batch_size)] = rates(
                comparison, name, BASELINE
            )
    results = {
        "baseline": BASELINE,
        "images_per_run": {str(batch_size): count for batch_size, count in IMAGES.items()},
        "rounds": ROUNDS,
        "command": "python -m benchmarks training_steps",
        "data": dataset.provenance,
        "variants": rates_by_variant,
    }
    return merge_records(
        "training_steps", "images per second in training", [record(device, results)]
    )


def _repeat(step: TrainingStep, steps: int) -> None:
    for _ in range(steps):
        step()


def _train(loader: ResidentLoader, device: torch.device, fused: bool | None = None) -> None:
    net = ClassicNet().to(device)
    rate = scaled_lr(loader.batch_size)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9, fused=fused)
    train(net, loader, optimizer, epochs=1)
