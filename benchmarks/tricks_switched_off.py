"""Lesson 06's ideas, switched off one at a time: accuracy and time of otherwise equal runs.

Baseline: the recipe with all its ideas. On a GPU that is the course's recipe for one, in full. On a
CPU it is the course's recipe for a CPU, for two passes over a tenth of the training images, judged
on a third of the test images. Every run has the same number of steps. Runs alternate, so that all
see the same drift of the machine. TRICKS_RUNS says how many each gets: by default 3 on a CPU, 10 on
a GPU.
"""

import os
import statistics
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from benchmarks._recording import devices, merged, record
from helpers import cifar10
from helpers.fast_cifar10.training import CPU, GPU, SWITCHES, Trainer, on_device, switched_off

NAME = "tricks_switched_off"
EVERYTHING = "all ideas"
VIEWS = "six views"
CPU_IMAGES = 5_000
CPU_EPOCHS = 2.0


def measure(cifar10_root: Path) -> dict[str, Any]:
    """Return accuracy and seconds of every run, by the idea that it does without."""
    device = devices()[-1]  # the GPU, where there is one
    cpu = device.type == "cpu"
    dataset = cifar10.load(cifar10_root)
    images, labels = dataset.train
    if cpu:
        chosen = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
        images, labels = images[chosen[:CPU_IMAGES]], labels[chosen[:CPU_IMAGES]]
    settings = replace(CPU, epochs=CPU_EPOCHS) if cpu else GPU
    runs = int(os.environ.get("TRICKS_RUNS", "3" if cpu else "10"))
    recipes = {EVERYTHING: settings} | {idea: switched_off(settings, idea) for idea in SWITCHES}
    trainers = {name: Trainer(one, images, labels, device) for name, one in recipes.items()}
    making_ready = {name: round(trainer.warm_up(), 2) for name, trainer in trainers.items()}
    test = on_device(*(part[:: 3 if cpu else 1] for part in dataset.test), device)
    rows: dict[str, dict[str, Any]] = {
        name: {"name": name, "accuracy": [], "seconds": []} for name in [*recipes, VIEWS]
    }
    for seed in range(runs):
        for name, trainer in trainers.items():
            seconds = round(trainer.run(seed).seconds, 3)
            judged = {name: True} | ({VIEWS: False} if name == EVERYTHING else {})
            for row, views in judged.items():
                rows[row]["accuracy"].append(round(trainer.accuracy(*test, views=views), 4))
                rows[row]["seconds"].append(seconds)
            print(f"{seed} without {name}: {rows[name]['accuracy'][-1]} in {seconds} s", flush=True)
    reference = statistics.median(rows[EVERYTHING]["accuracy"])
    figures = {
        "data": dataset.provenance,
        "images": len(labels),
        "test_images": len(test[1]),
        "epochs": settings.epochs,
        "baseline": EVERYTHING,
        "settings": asdict(settings),
        "points_lost_median": {
            name: round(100 * (reference - statistics.median(row["accuracy"])), 2)
            for name, row in rows.items()
        },
        "rows": list(rows.values()),
        "seconds_making_ready": making_ready,
        "load_at_the_end": round(os.getloadavg()[0], 1),
        "command": f"python -m benchmarks {NAME}",
    }
    return merged(NAME, "test accuracy without one idea each", [record(device, figures)])
