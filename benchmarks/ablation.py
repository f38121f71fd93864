"""Ablation of lesson 06's recipe: accuracy and time of runs with one technique removed.

Baseline: the recipe with all its techniques. On a GPU this is the course's full GPU recipe, with
ten seeds. On a CPU it is the course's CPU recipe with three seeds, trained for two epochs on a
tenth of the training images and evaluated on a third of the test images. Every run has the same
number of steps. Runs of the recipes alternate, so a change in the machine's speed affects all of
them.
"""

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
VIEWS = "six views"  # removed in evaluation, not in training
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
    rows: dict[str, dict[str, Any]] = {
        name: {"name": name, "accuracy": [], "seconds": []}
        for name in (FULL_RECIPE, VIEWS, *recipes)
    }
    for seed in range(3 if cpu else 10):
        for name, trainer in trainers.items():
            seconds = round(trainer.run(seed).seconds, 3)
            for row in (name, VIEWS) if name == FULL_RECIPE else (name,):
                accuracy = round(trainer.accuracy(*test, views=row != VIEWS), 4)
                rows[row]["accuracy"].append(accuracy)
                rows[row]["seconds"].append(seconds)
                print(f"seed {seed}, {row}: {accuracy}, {seconds} s", flush=True)
    results = {
        "data": dataset.provenance,
        "images": len(labels),
        "test_images": len(test[1]),
        "epochs": settings.epochs,
        "settings": asdict(settings),
        "baseline": FULL_RECIPE,
        "rows": list(rows.values()),
        "warm_up_seconds": warm_up_seconds,
    }
    return {device: results}
