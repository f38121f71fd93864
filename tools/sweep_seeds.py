"""Judge every collected answer with many inputs: `python -m tools.sweep_seeds [N [LAB ...]]`.

A check draws new inputs with every try. An answer that earns its hint with most of them and
another one with few is a check that sometimes tells a student the wrong thing.
"""

import importlib
import sys
from pathlib import Path

import torch

import simulated_cuda

LABS = sorted(
    path.stem.removesuffix("_answers")
    for path in (Path(__file__).parents[1] / "tests" / "helpers" / "checks").glob("lab_*.py")
)


def strays(lab: str, seeds: range, machine: str) -> int:
    """Print the answers of a lab that do not always earn their hint, and a seed; how many."""
    found = 0
    answers = importlib.import_module(f"tests.helpers.checks.{lab}_answers").answers
    for answer in answers.collected:
        exercise = answers.checks.lab.exercises[answer.exercise]
        others = {}
        for seed in seeds:
            verdict = exercise.judge(*answer.handed_in(), seed=seed)
            if verdict.hint != answer.hint:
                others.setdefault(verdict.hint, []).append(seed)
        if others:
            found += 1
            print(f"{lab} {answer.exercise} {answer.name} ({machine}): {others}", flush=True)
    return found


def main(times: str = "20", *labs: str) -> None:
    """Go through the labs, on the simulated GPU and on this machine as it is."""
    torch.set_num_threads(1)
    found = 0
    for lab in labs or LABS:
        with simulated_cuda.simulated(devices=2, over_real=True):
            found += strays(lab, range(int(times)), "simulated GPU")
        found += strays(lab, range(int(times)), "this machine")
    sys.exit(f"{found} answers do not always earn their hint." if found else None)


if __name__ == "__main__":
    main(*sys.argv[1:])
