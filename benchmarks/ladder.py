"""Each change to the classic script, alone and on top of the others that helped.

Baseline: the classic script on the same device: PIL transforms, 2 workers, batch 4, `loss.item()`.
Also how well a large batch learns from the same images with the classic rate and with the matching
one: a change that trains faster and learns less is none.
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
SEEDS = (0, 1, 2)


def measure(cifar10_root: Path) -> dict[str, object]:
    """Return every rung, alone and climbing, and the accuracy after one pass for three rates."""
    dataset = cifar10.load(cifar10_root)
    device = devices()[-1]
    ladder = Ladder(*dataset.train, device, rounds=ROUNDS)
    climb, top = ladder.climb()
    figures = {
        "rounds": ROUNDS,
        "data": dataset.provenance,
        "climb": [asdict(rung) for rung in climb],
        "alone": [asdict(rung) for rung in ladder.alone()],
        "top": vars(top),
        "accuracy_after_one_pass": _learning(dataset, device),
    }
    return merged("ladder", "changes to the classic script", [record(device, figures)])


def _learning(dataset: cifar10.Dataset, device: torch.device) -> dict[str, float]:
    ways = {
        f"batch {CLASSIC_BATCH}, rate {CLASSIC_RATE:g}": (CLASSIC_BATCH, CLASSIC_RATE),
        f"batch {LARGE_BATCH}, rate {CLASSIC_RATE:g}": (LARGE_BATCH, CLASSIC_RATE),
        f"batch {LARGE_BATCH}, rate {matching_rate(LARGE_BATCH):g}": (
            LARGE_BATCH,
            matching_rate(LARGE_BATCH),
        ),
    }
    return {
        name: statistics.median(_accuracy(dataset, device, *way, seed) for seed in SEEDS)
        for name, way in ways.items()
    }


def _accuracy(
    dataset: cifar10.Dataset, device: torch.device, batch: int, rate: float, seed: int
) -> float:
    torch.manual_seed(seed)
    net = ClassicNet().to(device)
    loader = ResidentLoader(*dataset.train, batch, device=device, seed=seed)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    train(net, loader, optimizer, epochs=1)
    test = ResidentLoader(*dataset.test, 500, device=device, shuffle=False)
    return evaluate(net, test).accuracy
