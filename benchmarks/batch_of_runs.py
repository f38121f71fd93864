"""24 runs of lesson 03 over a grid of seeds: `course batch` compared with a `papermill` loop.

Baseline: `papermill notebooks/03_moving_a_network.ipynb OUT -p seed N`, one command after another,
as in a shell loop. It is compared with `course batch 03 --grid seed ...` with two parallel runs,
with forked kernels and with new processes. The measured time includes startup and execution, and
for the batch also writing the tables and the page. Half of the loop runs before the batches and
half after them, so that a change in the machine's speed favors neither.
"""

import json
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
        batch_seconds = {
            "forked kernels": _batch(scratch / "forked"),
            "fresh kernels": _batch(scratch / "fresh", "--fresh-kernels"),
        }
        loop_seconds += [_papermill(scratch, seed) for seed in range(RUNS // 2, RUNS)]
        num_compared = _compare(scratch / "forked", scratch)
    baseline = sum(loop_seconds)
    results = {
        "baseline": f"a loop of {RUNS} papermill commands, run in full",
        "seconds": {
            "papermill, each command": [round(seconds, 2) for seconds in loop_seconds],
            f"papermill, {RUNS} commands": round(baseline, 1),
            **{f"course batch, {JOBS} at once, {k}": round(s, 1) for k, s in batch_seconds.items()},
        },
        "ratio": {kind: round(baseline / s, 2) for kind, s in batch_seconds.items()},
        "outputs compared with papermill's and equal": num_compared,
    }
    return {torch.device("cpu"): results}


def _papermill(scratch: Path, seed: int) -> float:
    """Run one command; return its wall-clock seconds."""
    paths = [str(ROOT / "notebooks" / f"{LESSON}.ipynb"), str(scratch / f"{seed}.ipynb")]
    options = ["-p", "seed", str(seed), "-k", "python3", "--no-progress-bar"]
    return _run_seconds("papermill", *paths, *options)


def _batch(out: Path, *options: str) -> float:
    """Run a whole batch; return its wall-clock seconds."""
    grid = ["--grid", "seed", *map(str, range(RUNS)), "--jobs", str(JOBS), "--out", str(out)]
    return _run_seconds("course.cli", "--root", str(ROOT), "batch", LESSON, *grid, *options)


def _run_seconds(module: str, *arguments: str) -> float:
    command = [sys.executable, "-m", module, *arguments]
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        completed = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if completed.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{completed.stdout}{completed.stderr}")
    return seconds


def _compare(batch: Path, papermill: Path) -> int:
    """Return the number of outputs of the batch, after comparing them with papermill's."""
    count = 0
    for file in sorted((batch / "state").glob("*.json")):
        entry = json.loads(file.read_text(encoding="utf-8"))
        paths = batch / entry["file"], papermill / f"{entry['parameters']['seed']}.ipynb"
        ours, theirs = (
            [output for cell in nbformat.read(path, 4).cells for output in cell.get("outputs", [])]
            for path in paths
        )
        if ours != theirs:
            raise RuntimeError(f"{entry['run']} shows {ours}, but papermill's run {theirs}.")
        count += len(ours)
    return count
