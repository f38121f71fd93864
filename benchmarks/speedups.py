"""Each change to the classic script, alone and on top of the others that helped.

Baseline: the classic script on the same device: PIL transforms, 2 workers, batch 4, `loss.item()`.
A faster setting may reach lower accuracy after the same number of training images; see
`large_batches.py`.
"""

from dataclasses import asdict
from pathlib import Path

from benchmarks._recording import Results, devices
from helpers import cifar10
from helpers.speedups import SpeedupStudy

DESCRIPTION = "changes to the classic script"
ROUNDS = 8
SECONDS = 1.5  # total for each setting of a comparison
SKIP: dict[str, str] = {}  # changes that are not measured, and why


def measure(cifar10_root: Path | str) -> Results:
    """Return the speedup of each change, alone and cumulatively, and the final configuration."""
    dataset = cifar10.load(cifar10_root)
    device = devices()[-1]
    study = SpeedupStudy(*dataset.train, device, rounds=ROUNDS, seconds=SECONDS, skip=SKIP)
    cumulative, final_config = study.measure_cumulative()
    print(*cumulative, sep="\n", flush=True)
    results = {
        "rounds": ROUNDS,
        "data": dataset.provenance,
        "cumulative": [asdict(speedup) for speedup in cumulative],
        "alone": [asdict(speedup) for speedup in study.measure_each()],
        "top": vars(final_config),
    }
    return {device: results}
