"""Test accuracy of the classic network, trained on the same images in small and large batches.

Baseline: the classic script's batch of 4 with its learning rate of 0.001, for one pass over the
images. It is compared with a large batch at the same rate, at the scaled rate, and with more
passes. The benchmark measures test accuracy, not time.
"""

import statistics
from pathlib import Path

import torch

from benchmarks._recording import devices, merge_records, record
from helpers import cifar10
from helpers.evaluation import evaluate
from helpers.loaders import ResidentLoader
from helpers.networks import ClassicNet
from helpers.speedups import LARGE_BATCH
from helpers.steps import CLASSIC_BATCH, CLASSIC_LR, scaled_lr
from helpers.training import train

SEEDS = (0, 1, 2)
LARGE_PASSES = 5  # the large batch needs more passes to learn as much


def measure(cifar10_root: Path) -> dict[str, object]:
    """Return the median test accuracy over the seeds for each batch, rate and number of passes."""
    dataset = cifar10.load(cifar10_root)
    device = devices()[-1]
    results = {
        "seeds": len(SEEDS),
        "command": "python -m benchmarks large_batches",
        "data": dataset.provenance,
        "accuracy": _median_accuracies(dataset, device),
    }
    return merge_records(
        "large_batches", "test accuracy by batch and rate", [record(device, results)]
    )


def _median_accuracies(dataset: cifar10.Dataset, device: torch.device) -> dict[str, float]:
    large_lr = scaled_lr(LARGE_BATCH)
    variants = ((CLASSIC_BATCH, CLASSIC_LR, 1),)
    variants += tuple((LARGE_BATCH, rate, 1) for rate in (CLASSIC_LR, large_lr))
    variants += ((LARGE_BATCH, large_lr, LARGE_PASSES),)
    return {
        f"batch {batch}, rate {rate:g}, {epochs} {'pass' if epochs == 1 else 'passes'}": (
            statistics.median(_accuracy(dataset, device, batch, rate, epochs, s) for s in SEEDS)
        )
        for batch, rate, epochs in variants
    }


def _accuracy(
    dataset: cifar10.Dataset, device: torch.device, batch: int, rate: float, epochs: int, seed: int
) -> float:
    torch.manual_seed(seed)
    net = ClassicNet().to(device)
    loader = ResidentLoader(*dataset.train, batch, device=device, seed=seed)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    train(net, loader, optimizer, epochs=epochs)
    test = ResidentLoader(*dataset.test, 500, device=device, shuffle=False)
    return evaluate(net, test).accuracy
