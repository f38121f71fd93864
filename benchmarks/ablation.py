"""Ablation of lesson 06's recipe: accuracy and time of runs with one technique removed.

Baseline: the recipe with all its techniques. On a GPU this is the course's full GPU recipe, with
ten seeds. On a CPU it is the course's CPU recipe with three seeds, trained for two epochs on a
tenth of the training images and evaluated on a third of the test images. Every run has the same
number of steps. Runs of the recipes alternate, so a change in the machine's speed affects all of
them.
"""

import json
import statistics
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from benchmarks._recording import Results, devices
from helpers import cifar10
from helpers.fast_cifar10.augmentation import on_device
from helpers.fast_cifar10.recipes import CPU, GPU, ablate, active_techniques
from helpers.fast_cifar10.training import Trainer

DESCRIPTION = "test accuracy with one technique removed"
FULL_RECIPE = "all techniques"
VIEWS = "six views"
CPU_IMAGES = 5_000
CPU_EPOCHS = 2.0


def measure(cifar10_root: Path | str) -> Results:
    """Return the accuracy and seconds of every run, for each removed technique."""
    device = devices()[-1]  # the GPU, if there is one
    cpu = device.type == "cpu"
    dataset = cifar10.load(cifar10_root)
    images, labels = dataset.train
    if cpu:
        indices = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
        images, labels = images[indices[:CPU_IMAGES]], labels[indices[:CPU_IMAGES]]
    settings = replace(CPU, epochs=CPU_EPOCHS) if cpu else GPU
    recipes = {FULL_RECIPE: settings}
    recipes |= {technique: ablate(settings, technique) for technique in active_techniques(settings)}
    trainers = {name: Trainer(recipe, images, labels, device) for name, recipe in recipes.items()}
    warm_up_seconds = {name: round(trainer.warm_up(), 2) for name, trainer in trainers.items()}
    test = on_device(*(part[:: 3 if cpu else 1] for part in dataset.test), device)
    runs = []
    for seed in range(3 if cpu else 10):
        for name, trainer in trainers.items():
            seconds = round(trainer.run(seed).seconds, 3)
            evaluations = {name: True} | ({VIEWS: False} if name == FULL_RECIPE else {})
            for label, views in evaluations.items():
                accuracy = round(trainer.accuracy(*test, views=views), 4)
                runs.append({"name": label, "seed": seed, "accuracy": accuracy, "seconds": seconds})
                print(runs[-1], flush=True)
    conditions = {
        "data": dataset.provenance,
        "images": len(labels),
        "test_images": len(test[1]),
        "epochs": settings.epochs,
        "settings": json.loads(json.dumps(asdict(settings))),
    }
    return {device: conditions | summarize_runs(runs) | {"warm_up_seconds": warm_up_seconds}}


def summarize_runs(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the runs, a row for each removed technique, and the points that each removal costs."""
    rows: dict[str, dict[str, Any]] = {}
    for run in runs:
        row = rows.setdefault(run["name"], {"name": run["name"], "accuracy": [], "seconds": []})
        row["accuracy"].append(run["accuracy"])
        row["seconds"].append(run["seconds"])
    medians = {name: statistics.median(row["accuracy"]) for name, row in rows.items()}
    return {
        "baseline": FULL_RECIPE,
        "points_lost_median": {
            name: round(100 * (medians[FULL_RECIPE] - median), 2)
            for name, median in medians.items()
        },
        "rows": list(rows.values()),
        "runs": runs,
    }
