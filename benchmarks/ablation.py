"""Ablation of lesson 06's recipe: accuracy and time of runs with one technique removed.

Baseline: the recipe with all its techniques. On a GPU this is the course's full GPU recipe. On a
CPU it is the course's CPU recipe, trained for two epochs on a tenth of the training images and
evaluated on a third of the test images. Every run has the same number of steps. Runs of the recipes
alternate, so a change in the machine's speed affects all of them. ABLATION_SEEDS sets the seeds of
each recipe; the default is "0,1,2" on a CPU and ten seeds on a GPU. Earlier runs on this device
with the same settings are kept, so the runs can be split over several commands.
"""

import json
import os
import statistics
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from benchmarks._recording import devices, merge_records, record
from helpers import cifar10, records
from helpers.fast_cifar10.augmentation import on_device
from helpers.fast_cifar10.recipes import CPU, GPU, ablate, active_techniques
from helpers.fast_cifar10.training import Trainer

NAME = "ablation"
FULL_RECIPE = "all techniques"
VIEWS = "six views"
CPU_IMAGES = 5_000
CPU_EPOCHS = 2.0


def measure(cifar10_root: Path) -> dict[str, Any]:
    """Return the accuracy and seconds of every run, for each removed technique."""
    device = devices()[-1]  # the GPU, if there is one
    cpu = device.type == "cpu"
    dataset = cifar10.load(cifar10_root)
    images, labels = dataset.train
    if cpu:
        indices = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
        images, labels = images[indices[:CPU_IMAGES]], labels[indices[:CPU_IMAGES]]
    settings = replace(CPU, epochs=CPU_EPOCHS) if cpu else GPU
    seeds = os.environ.get("ABLATION_SEEDS", "0,1,2" if cpu else "0,1,2,3,4,5,6,7,8,9")
    recipes = {FULL_RECIPE: settings}
    recipes |= {technique: ablate(settings, technique) for technique in active_techniques(settings)}
    trainers = {name: Trainer(recipe, images, labels, device) for name, recipe in recipes.items()}
    warm_up_seconds = {name: round(trainer.warm_up(), 2) for name, trainer in trainers.items()}
    test = on_device(*(part[:: 3 if cpu else 1] for part in dataset.test), device)
    runs = []
    for seed in map(int, seeds.split(",")):
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
        # Convert tuples to lists, so that the settings compare equal to the recorded ones.
        "settings": json.loads(json.dumps(asdict(settings))),
    }
    new_record = record(device, {})
    same_device_results = [
        old.results for old in records.read(NAME) if old.device == new_record.device
    ]
    results = summarize_runs(
        runs, conditions, same_device_results[0] if same_device_results else None
    )
    results |= {"warm_up_seconds": warm_up_seconds, "command": f"python -m benchmarks {NAME}"}
    what = "test accuracy with one technique removed"
    return merge_records(NAME, what, [replace(new_record, results=results)])


def summarize_runs(
    runs: list[dict[str, Any]], conditions: dict[str, Any], earlier_results: Any | None = None
) -> dict[str, Any]:
    """Return the results of `runs` and of `earlier_results`, if the conditions are the same."""
    if earlier_results and all(earlier_results[key] == value for key, value in conditions.items()):
        keys = {(run["name"], run["seed"]) for run in runs}
        runs = [
            *(old for old in earlier_results["runs"] if (old["name"], old["seed"]) not in keys),
            *runs,
        ]
    rows: dict[str, dict[str, Any]] = {}
    for run in runs:
        row = rows.setdefault(run["name"], {"name": run["name"], "accuracy": [], "seconds": []})
        row["accuracy"].append(run["accuracy"])
        row["seconds"].append(run["seconds"])
    reference = statistics.median(rows[FULL_RECIPE]["accuracy"])
    return conditions | {
        "baseline": FULL_RECIPE,
        "points_lost_median": {
            name: round(100 * (reference - statistics.median(row["accuracy"])), 2)
            for name, row in rows.items()
        },
        "rows": list(rows.values()),
        "runs": runs,
    }
