"""The course's 94 % recipe and airbench's under the clock: modelled, without `torch.compile`.

Airbench's script, read from the path in AIRBENCH, runs unchanged on shapes alone, but stops after a
few steps and skips the evaluations that its own timer leaves out. A step is half of the difference
between runs of 4 and of 2 steps, so what happens once per run or per pass is not part of it.
"""

import contextlib
import os
import types
from collections.abc import Callable
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

import torch

import simulated_cuda
from benchmarks._recording import Results
from benchmarks.against_airbench import SOURCE, images_for_airbench
from helpers import cifar10
from helpers.fast_cifar10.recipes import GPU
from helpers.fast_cifar10.training import Trainer

CARD = "A100 SXM 40GB"
DESCRIPTION = f"modelled cost of a training step of the course and of airbench on an {CARD}"


def measure(cifar10_root: Path | str) -> Results:
    """Return the modelled cost of a step of both recipes, in microseconds and bytes."""
    script = Path(os.environ.get("AIRBENCH", "")).resolve()
    if not script.is_file():
        print(f"not modelled: set AIRBENCH to the path of airbench94_muon.py, from {SOURCE}")
        return {}
    dataset, cpu = cifar10.load(cifar10_root), torch.device("cpu")
    trainer = Trainer(replace(GPU, compiled=False), *dataset.train, cpu)
    results = {"course": cost_of_a_step(lambda steps: trainer.run(steps=steps))}
    source = compile(script.read_text(encoding="utf-8"), script.name, "exec")
    with images_for_airbench(dataset), contextlib.redirect_stdout(None):
        results["airbench"] = cost_of_a_step(lambda steps: _run_airbench(source, steps))
    return {cpu: {"card": CARD, "per_step": results}}


def cost_of_a_step(run: Callable[[int], object]) -> dict[str, Any]:
    """Return the modelled cost of one step of `run`, which takes the number of steps."""
    two, four = (simulated_cuda.estimate(run, steps, gpu=CARD) for steps in (2, 4))
    moved = [sum(kernel.work.bytes for kernel in each.kernels) for each in (two, four)]
    return {
        "waits": (len(four.waits) - len(two.waits)) // 2,
        "kernels": (len(four.kernels) - len(two.kernels)) // 2,
        "megabytes": round((moved[1] - moved[0]) / 2e6),
        "microseconds": round(5e5 * (four.seconds - two.seconds)),
        "microseconds_launching": round(5e5 * (four.cpu_seconds - two.cpu_seconds)),
    }


def _run_airbench(source: types.CodeType, steps: int) -> None:
    module = types.ModuleType("airbench_script")  # so that its main block does not run
    exec(source, vars(module))
    module.print_training_details = lambda *_, **__: None
    module.evaluate = lambda *_, **__: 0.0
    module.ceil = lambda value: min(steps, ceil(value))  # it computes the number of steps
    module.main(0, module.CifarNet().cuda().to(memory_format=torch.channels_last))
