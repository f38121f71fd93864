"""24 runs of lesson 03 over a grid of seeds: `course batch` compared with a `papermill` loop.

Baseline: `papermill notebooks/03_moving_a_network.ipynb OUT -p seed N`, one command after another,
as in a shell loop. It is compared with `course batch 03 --grid seed ...` with two parallel runs,
with forked kernels and with new processes. The measured time includes startup and execution, and
for the batch also writing the tables and the page. Half of the loop runs before the batches and
half after them, so that a change in the machine's speed favors neither.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
import torch

from benchmarks._recording import Results

ROOT = Path(__file__).resolve().parent.parent
LESSON = "03_moving_a_network"
RUNS = 24
JOBS = 2
DESCRIPTION = f"{RUNS} runs of lesson 03 over a grid of seeds"


def measure(cifar10_root: Path | str) -> Results:
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
        num_compared, cell_seconds, overhead = _compare(scratch)
    baseline = sum(loop_seconds)
    results = {
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
        "inside a forked run, median seconds": {
            "cells": round(statistics.median(cell_seconds), 2),
            "starting and ending": round(statistics.median(overhead), 2),
        },
        "outputs compared with papermill's and equal": num_compared,
    }
    return {torch.device("cpu"): results}


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


def _compare(scratch: Path) -> tuple[int, list[float], list[float]]:
    """Compare the batch's outputs with papermill's.

    Returns the number of outputs compared, and for each run the seconds in its cells and outside.
    """
    count, cell_seconds, overhead = 0, [], []
    for file in sorted((scratch / "warm" / "state").glob("*.json")):
        entry = json.loads(file.read_text(encoding="utf-8"))
        ours = nbformat.read(scratch / "warm" / entry["file"], as_version=4)
        theirs = nbformat.read(scratch / f"{entry['parameters']['seed']}.ipynb", as_version=4)
        for output, other in zip(_outputs(ours), _outputs(theirs), strict=True):
            if output != other:
                raise RuntimeError(
                    f"{entry['run']} shows {output}, but papermill's run shows {other}."
                )
            count += 1
        cell_metadata = (cell.metadata.get("papermill", {}) for cell in ours.cells)
        cell_seconds.append(sum(cell.get("duration") or 0 for cell in cell_metadata))
        overhead.append(entry["seconds"] - cell_seconds[-1])
    return count, cell_seconds, overhead


def _outputs(notebook: nbformat.NotebookNode) -> list[object]:
    """Return all outputs of the code cells."""
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]
