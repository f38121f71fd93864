"""Judge every collected answer with many inputs: `python -m tools.sweep_seeds [N [LAB ...]]`.

A check draws new inputs for every attempt. If an answer gets its hint for most inputs and another
one for a few, the check sometimes tells a student the wrong thing.
"""

import importlib
import sys

import torch

import simulated_cuda
from tests.helpers.checks.collection import LABS


def strays(lab: str, seeds: range, machine: str) -> int:
    """Print the answers of a lab whose hint depends on the inputs, and return their number."""
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
    """Judge the answers to the labs, on the simulated GPU and on this machine as it is."""
    torch.set_num_threads(1)
    found = 0
    for lab in labs or LABS:
        with simulated_cuda.simulated(devices=2, over_real=True):
            found += strays(lab, range(int(times)), "simulated GPU")
        found += strays(lab, range(int(times)), "this machine")
    sys.exit(f"{found} answers do not always get their hint." if found else None)


if __name__ == "__main__":
    main(*sys.argv[1:])
