"""24 runs of lesson 03 over a grid of seeds: `course batch` compared with a `papermill` loop.

Baseline: `papermill notebooks/03_moving_a_network.ipynb OUT -p seed N`, one command after another,
as in a shell loop. It is compared with `course batch 03 --grid seed ...` with two parallel runs,
with forked kernels and with new processes. The measured time includes startup and execution, and
for the batch also writing the tables and the page. Half of the loop runs before the batches and
half after them, so that a change in the machine's speed favors neither.
"""

import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
import torch

ROOT = Path(__file__).resolve().parent.parent
LESSON = "03_moving_a_network"
RUNS = 24
JOBS = 2


def measure(cifar10_root: Path) -> dict[str, object]:
    """Return seconds and ratios; the lesson needs no images, so `cifar10_root` is unused.

    Raises:
        RuntimeError: a run failed, or an output of the batch differs from papermill's.
    """
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        loop_seconds = [_papermill(scratch, seed) for seed in range(RUNS // 2)]
        forked_seconds = _batch(scratch / "warm", [])
        fresh_seconds = _batch(scratch / "fresh", ["--fresh-kernels"])
        loop_seconds += [_papermill(scratch, seed) for seed in range(RUNS // 2, RUNS)]
        num_compared = _compare(scratch)
        run_seconds = _median_run_seconds(scratch / "warm")
    baseline = sum(loop_seconds)
    return {
        "what": f"{RUNS} runs of lesson 03 over a grid of seeds",
        "baseline": f"a loop of {RUNS} papermill commands, run in full",
        "seconds": {
            "papermill, each command": [round(seconds, 2) for seconds in loop_seconds],
            f"papermill, {RUNS} commands": round(baseline, 1),
            f"course batch, {JOBS} at once, forked kernels": round(forked_seconds, 1),
            f"course batch, {JOBS} at once, fresh kernels": round(fresh_seconds, 1),
        },
        "ratio": {
            "forked kernels": round(baseline / forked_seconds, 2),
            "fresh kernels": round(baseline / fresh_seconds, 2),
        },
        "inside a forked run, median seconds": run_seconds,
        "outputs compared with papermill's and equal": num_compared,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, torch {torch.__version__}",
        "date": datetime.date.today().isoformat(),
    }


def _papermill(scratch: Path, seed: int) -> float:
    """Run one command; return its wall-clock seconds."""
    paths = [ROOT / "notebooks" / f"{LESSON}.ipynb", scratch / f"{seed}.ipynb"]
    command = [sys.executable, "-m", "papermill", *map(str, paths), "-p", "seed", str(seed)]
    return _run_seconds([*command, "-k", "python3", "--no-progress-bar"], scratch)


def _batch(out: Path, options: list[str]) -> float:
    """Run a whole batch; return its wall-clock seconds."""
    seeds = [str(seed) for seed in range(RUNS)]
    command = [sys.executable, "-m", "course.cli", "--root", str(ROOT), "batch", LESSON]
    command += ["--grid", "seed", *seeds, "--jobs", str(JOBS), "--out", str(out)]
    return _run_seconds([*command, *options], out.parent)


def _run_seconds(command: list[str], folder: Path) -> float:
    start = time.perf_counter()
    completed = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if completed.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{completed.stdout}{completed.stderr}")
    return seconds


def _compare(scratch: Path) -> int:
    """Compare the batch's outputs with papermill's; return the number of outputs compared."""
    count = 0
    for file in sorted((scratch / "warm" / "state").glob("*.json")):
        entry = json.loads(file.read_text(encoding="utf-8"))
        theirs = scratch / f"{entry['parameters']['seed']}.ipynb"
        if not theirs.exists():
            continue
        ours = nbformat.read(scratch / "warm" / entry["file"], as_version=4)
        for output, other in zip(_outputs(ours), _outputs(nbformat.read(theirs, 4)), strict=True):
            if output != other:
                raise RuntimeError(
                    f"{entry['run']} shows {output}, but papermill's run shows {other}."
                )
            count += 1
    return count


def _outputs(notebook: nbformat.NotebookNode) -> list[object]:
    """Return all outputs of the code cells."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [output for cell in cells for output in cell.outputs]


def _time(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


def _median_run_seconds(out: Path) -> dict[str, float]:
    """Return the median seconds that a run spends in its cells and outside of them."""
    cells, overhead = [], []
    for file in (out / "state").glob("*.json"):
        entry = json.loads(file.read_text(encoding="utf-8"))
        notebook = nbformat.read(out / entry["file"], as_version=4)
        times = [cell.metadata["execution"] for cell in notebook.cells if cell.cell_type == "code"]
        seconds = sum(
            (_time(cell["iopub.status.idle"]) - _time(cell["iopub.status.busy"])).total_seconds()
            for cell in times
        )
        cells.append(seconds)
        overhead.append(entry["seconds"] - seconds)
    return {
        "cells": round(statistics.median(cells), 2),
        "starting and ending": round(statistics.median(overhead), 2),
    }
