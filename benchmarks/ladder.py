"""Each change to the classic script, alone and on top of the others that helped.

Baseline: the classic script on the same device: PIL transforms, 2 workers, batch 4, `loss.item()`.
A faster setting may learn less from the same images: `large_batches.py` measures that.
"""

from dataclasses import asdict
from pathlib import Path

from benchmarks._recording import devices, merged, record
from helpers import cifar10
from helpers.ladder import Ladder

ROUNDS = 8
SECONDS = 1.5  # total for each setting of a comparison


def measure(cifar10_root: Path) -> dict[str, object]:
    """Return every change, in the ladder and alone, and the setting with those that helped."""
    dataset = cifar10.load(cifar10_root)
    device = devices()[-1]
    ladder = Ladder(*dataset.train, device, rounds=ROUNDS, seconds=SECONDS)
    climb, top = ladder.climb()
    print(*climb, sep="\n", flush=True)
    figures = {
        "rounds": ROUNDS,
        "command": "python -m benchmarks ladder",
        "data": dataset.provenance,
        "climb": [asdict(rung) for rung in climb],
        "alone": [asdict(rung) for rung in ladder.alone()],
        "top": vars(top),
    }
    return merged("ladder", "changes to the classic script", [record(device, figures)])
