"""The speed of the input pipeline alone: images prepared per second, without training.

Baseline: the classic script's way, with torchvision's transforms on single PIL images in a
DataLoader with 2 worker processes. All ways are measured alternately and repeat epochs endlessly,
so that workers are started only when an epoch begins. The batches end up on the device.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import torch

from benchmarks._recording import devices, merged, rates, record
from helpers import cifar10
from helpers.loaders import ResidentLoader, worker_loader
from helpers.steps import endless, photo_loader, whole_batches
from helpers.timing import compare

BASELINE = "PIL transforms, 2 workers"
BATCHES = (4, 64, 512)
ROUNDS = 5
SECONDS = 1.5  # total for each way
# While one way runs, the workers of another prepare four batches. With eight batches per call, the
# calls before the clock starts use them up.
BATCHES_PER_CALL = 8


def measure(cifar10_root: Path) -> dict[str, object]:
    """Return images per second of each way and its ratio to the baseline, for each batch size."""
    dataset = cifar10.load(cifar10_root)
    device = devices()[-1]
    found: dict[str, dict[str, object]] = {}
    for batch in BATCHES:
        part = whole_batches(*dataset.train, batch)
        ways = {
            BASELINE: photo_loader(*part, batch, workers=2),
            "PIL transforms, no workers": photo_loader(*part, batch, workers=0),
            "tensors one by one, 2 workers": worker_loader(*part, batch, workers=2),
            "tensors one by one, no workers": worker_loader(*part, batch, workers=0),
            "batches of resident tensors": ResidentLoader(*part, batch, device=device),
        }
        calls = {name: _drain(loader, device) for name, loader in ways.items()}
        units = dict.fromkeys(ways, BATCHES_PER_CALL * batch)
        comparison = compare(calls, device, rounds=ROUNDS, seconds=SECONDS, units=units)
        for name in ways:
            found.setdefault(name, {})[str(batch)] = rates(comparison, name, BASELINE)
    figures = {
        "baseline": BASELINE,
        "rounds": ROUNDS,
        "command": "python -m benchmarks input_pipeline",
        "data": dataset.provenance,
        "ways": found,
    }
    return merged("input_pipeline", "images prepared per second", [record(device, figures)])


def _drain(loader: Iterable, device: torch.device) -> Callable[[], None]:
    batches = endless(loader)

    def drain() -> None:
        for _ in range(BATCHES_PER_CALL):
            images, labels = next(batches)
            images.to(device), labels.to(device)

    return drain
