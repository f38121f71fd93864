"""What feeds the network, alone: batches prepared a second, nothing trained.

Baseline: the classic script's way, torchvision's transforms on one PIL image after the other in a
DataLoader with 2 worker processes. All ways run for ever and are drained in turns, so that starting
workers counts only as often as an epoch begins. On the device where the batches are wanted.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import torch

from benchmarks._recording import devices, merged, record
from helpers import cifar10
from helpers.loaders import ResidentLoader, worker_loader
from helpers.steps import endless, photo_loader
from helpers.timing import compare

BASELINE = "PIL transforms, 2 workers"
BATCHES = (4, 64, 512)
IMAGES = 4096  # a call
ROUNDS = 5


def measure(cifar10_root: Path) -> dict[str, object]:
    """Return images a second of each way and its ratio to the baseline, for each batch size."""
    dataset = cifar10.load(cifar10_root)
    device = devices()[-1]
    found: dict[str, dict[str, dict[str, object]]] = {}
    for batch in BATCHES:
        ways = {
            BASELINE: photo_loader(*dataset.train, batch, workers=2),
            "PIL transforms, no workers": photo_loader(*dataset.train, batch, workers=0),
            "tensors one by one, 2 workers": worker_loader(*dataset.train, batch, workers=2),
            "tensors one by one, no workers": worker_loader(*dataset.train, batch, workers=0),
            "batches of resident tensors": ResidentLoader(*dataset.train, batch, device=device),
        }
        calls = {name: _drain(loader, batch, device) for name, loader in ways.items()}
        comparison = compare(calls, device, rounds=ROUNDS, seconds=1.0)
        for name in ways:
            ratio = comparison.ratio(name, BASELINE)
            found.setdefault(name, {})[str(batch)] = {
                "images_per_second": round(IMAGES / comparison[name].median),
                "ratio_median": round(ratio.median, 2),
                "ratio_range": [round(min(ratio.values), 2), round(max(ratio.values), 2)],
            }
    figures = {
        "baseline": BASELINE,
        "images_a_call": IMAGES,
        "rounds": ROUNDS,
        "data": dataset.provenance,
        "ways": found,
    }
    return merged("input_pipeline", "images prepared a second", [record(device, figures)])


def _drain(loader: Iterable, batch: int, device: torch.device) -> Callable[[], None]:
    batches = endless(loader)

    def drain() -> None:
        for _ in range(IMAGES // batch):
            images, labels = next(batches)
            images.to(device), labels.to(device)

    return drain
