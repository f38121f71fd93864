"""Test accuracy of the classic network, trained on the same images in small and large batches.

Baseline: the classic script's batch of 4 with its learning rate of 0.001, for one pass over the
images. It is compared with a large batch at the same rate, at the scaled rate, and with more
passes. The benchmark measures test accuracy, not time.
"""

import statistics
from pathlib import Path

import torch

from benchmarks._recording import Results, devices
from helpers import cifar10
from helpers.evaluation import evaluate
from helpers.loaders import ResidentLoader
from helpers.networks import ClassicNet
from helpers.speedups import LARGE_BATCH
from helpers.steps import CLASSIC_BATCH, CLASSIC_LR, scaled_lr
from helpers.training import train

DESCRIPTION = "test accuracy by batch and rate"
SEEDS = (0, 1, 2)
VARIANTS = (  # batch size, learning rate, passes over the images
    (CLASSIC_BATCH, CLASSIC_LR, 1),
    (LARGE_BATCH, CLASSIC_LR, 1),
    (LARGE_BATCH, scaled_lr(LARGE_BATCH), 1),
    (LARGE_BATCH, scaled_lr(LARGE_BATCH), 5),  # a large batch needs more passes to learn as much
)


def measure(cifar10_root: Path | str) -> Results:
    """Return the median test accuracy over the seeds for each batch, rate and number of passes."""
    dataset = cifar10.load(cifar10_root)
    device = devices()[-1]
    medians = {}
    for batch, rate, epochs in VARIANTS:
        name = f"batch {batch}, rate {rate:g}, {epochs} {'pass' if epochs == 1 else 'passes'}"
        accuracies = [_accuracy(dataset, device, batch, rate, epochs, seed) for seed in SEEDS]
        medians[name] = statistics.median(accuracies)
    return {device: {"seeds": len(SEEDS), "data": dataset.provenance, "accuracy": medians}}


def _accuracy(
    dataset: cifar10.Dataset, device: torch.device, batch: int, rate: float, epochs: int, seed: int
) -> float:
    torch.manual_seed(seed)
    net = ClassicNet().to(device)
    loader = ResidentLoader(*dataset.train, batch, device=device, seed=seed)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    train(net, loader, optimizer, epochs=epochs)
    test = ResidentLoader(*dataset.test, 500, device=device)
    return evaluate(net, test).accuracy
