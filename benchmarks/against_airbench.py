"""The course's 94 % recipe compared with airbench's script, in alternating runs on one GPU.

Baseline: `airbench94_muon.py` of KellerJordan's cifar10-airbench, read from the path in AIRBENCH
and run unchanged in this process: the same GPU, the same torch, the same images. Its time is
its own measurement with CUDA events, which covers whitening, training, and prediction from six
views. Both are compiled before the runs; compilation is timed separately.

The script is not part of this repository; SOURCE is the URL of the version used. Without a GPU or
without AIRBENCH, the benchmark records nothing and prints the reason.
"""

import contextlib
import os
import statistics
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks._recording import Results, devices
from helpers import cifar10
from helpers.cifar10 import Dataset
from helpers.fast_cifar10.augmentation import on_device
from helpers.fast_cifar10.recipes import GPU
from helpers.fast_cifar10.training import Trainer, synchronize

SOURCE = (
    "https://raw.githubusercontent.com/KellerJordan/cifar10-airbench/"
    "096d14d9aa92dcc837ab4f1f288dffea2bbe41b7/airbench94_muon.py"
)
RUNS = 20  # of each recipe
DESCRIPTION = "test accuracy and seconds of alternating runs of the course and airbench"
Run = dict[str, float]


def measure(cifar10_root: Path | str) -> Results:
    """Return all runs of both recipes, the ratio of their times, and compile times."""
    device = devices()[-1]
    script = Path(os.environ.get("AIRBENCH", "")).resolve()
    if device.type != "cuda" or not script.is_file():
        print(
            "not measured: this needs a CUDA GPU, and the path of airbench94_muon.py in AIRBENCH."
        )
        print(f"To download it: curl -fO {SOURCE}")
        return {}
    dataset = cifar10.load(cifar10_root)
    with images_for_airbench(dataset):
        recipes, warm_up_seconds = {}, {}
        for name, prepare, source in (
            ("airbench", _prepare_airbench, script),
            ("course", _prepare_course, dataset),
        ):
            start = time.perf_counter()
            recipes[name] = prepare(source, device)
            synchronize(device)
            warm_up_seconds[name] = round(time.perf_counter() - start, 2)
        runs: dict[str, list[Run]] = {name: [] for name in recipes}
        for number in range(RUNS):
            for name, recipe in recipes.items():
                runs[name].append(recipe(number))
                print(number, name, runs[name][-1], flush=True)
    command = "AIRBENCH=.../airbench94_muon.py python -m benchmarks against_airbench"
    results = {"data": dataset.provenance, "warm_up_seconds": warm_up_seconds, "command": command}
    return {device: results | summarize_runs(runs)}


def summarize_runs(runs: dict[str, list[Run]]) -> dict[str, Any]:
    """Return the results of the comparison; runs of both recipes with the same number are pairs."""
    pairs = zip(runs["course"], runs["airbench"], strict=True)
    ratios = [ours["seconds"] / theirs["seconds"] for ours, theirs in pairs]
    return {
        "baseline": "airbench",
        "runs": runs,
        "ratio_of_times_median": round(statistics.median(ratios), 3),
        "ratio_of_times_range": [round(min(ratios), 3), round(max(ratios), 3)],
    }


def _prepare_course(dataset: Dataset, device: torch.device) -> Callable[[int], Run]:
    trainer = Trainer(GPU, *dataset.train, device)
    images, labels = on_device(*dataset.test, device)
    trainer.warm_up()
    trainer.predict(images)  # also compile for this number of images

    def run(number: int) -> Run:
        seconds = trainer.run(number).seconds
        synchronize(device)
        start = time.perf_counter()
        accuracy = trainer.accuracy(images, labels)
        return {"accuracy": accuracy, "seconds": seconds + time.perf_counter() - start}

    return run


def _prepare_airbench(script: Path, device: torch.device) -> Callable[[int], Run]:
    module = types.ModuleType("airbench_script")  # so that its main block does not run
    exec(compile(script.read_text(encoding="utf-8"), script, "exec"), vars(module))
    reported: dict[str, Any] = {}
    # The script passes its local variables to this function, including its measured time.
    module.print_training_details = lambda variables, is_final_entry: reported.update(variables)
    net = module.CifarNet().to(device, memory_format=torch.channels_last)
    net.compile(mode="max-autotune")
    module.main("warmup", net)

    def run(number: int) -> Run:
        accuracy = module.main(number, net)
        return {"accuracy": accuracy, "seconds": reported["time_seconds"]}

    return run


@contextlib.contextmanager
def images_for_airbench(dataset: Dataset) -> Iterator[None]:
    """Work in a folder with the images in ./cifar10/*.pt, where the script looks for them."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("cifar10").mkdir()
        for name, part in (("train", dataset.train), ("test", dataset.test)):
            content = {
                "images": part.images.permute(0, 2, 3, 1).contiguous(),
                "labels": part.labels,
                "classes": list(dataset.classes),
            }
            torch.save(content, Path("cifar10", f"{name}.pt"))
        yield
