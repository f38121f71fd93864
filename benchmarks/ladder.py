"""Each change to the classic script, alone and on top of the others that helped.

Baseline: the classic script on the same device: PIL transforms, 2 workers, batch 4, `loss.item()`.
Also how well a large batch learns from the same images with the classic rate and with the matching
one: what trains faster and learns less has to say so.
"""

import statistics
from dataclasses import asdict
from pathlib import Path

import torch

from benchmarks._recording import devices, merged, record
from helpers import cifar10
from helpers.evaluation import evaluate
from helpers.ladder import LARGE_BATCH, Ladder
from helpers.loaders import ResidentLoader
from helpers.networks import ClassicNet
from helpers.steps import CLASSIC_BATCH, CLASSIC_RATE, matching_rate
from helpers.training import train

ROUNDS = 7
SECONDS = 2.0  # in all, for each way of a comparison
SEEDS = (0, 1, 2)
LARGE_PASSES = 5  # the large batch needs more of them to learn as much


def measure(cifar10_root: Path) -> dict[str, object]:
    """Return every rung, alone and climbing, and the test accuracy for batches and rates."""
    dataset = cifar10.load(cifar10_root)
    device = devices()[-1]
    ladder = Ladder(*dataset.train, device, rounds=ROUNDS, seconds=SECONDS)
    climb, top = ladder.climb()
    figures = {
        "rounds": ROUNDS,
        "command": "python -m benchmarks ladder",
        "data": dataset.provenance,
        "climb": [asdict(rung) for rung in climb],
        "alone": [asdict(rung) for rung in ladder.alone()],
        "top": vars(top),
        "accuracy": _learning(dataset, device),
    }
    return merged("ladder", "changes to the classic script", [record(device, figures)])


def _learning(dataset: cifar10.Dataset, device: torch.device) -> dict[str, float]:
    matching = matching_rate(LARGE_BATCH)
    ways = ((CLASSIC_BATCH, CLASSIC_RATE, 1),)
    ways += tuple((LARGE_BATCH, rate, 1) for rate in (CLASSIC_RATE, matching))
    ways += ((LARGE_BATCH, matching, LARGE_PASSES),)
    return {
        f"batch {batch}, rate {rate:g}, {epochs} {'pass' if epochs == 1 else 'passes'}": (
            statistics.median(_accuracy(dataset, device, batch, rate, epochs, s) for s in SEEDS)
        )
        for batch, rate, epochs in ways
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
