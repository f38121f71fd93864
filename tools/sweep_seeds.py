"""Check every collected answer with many inputs: `python -m tools.sweep_seeds [N [LAB ...]]`.

A check generates new inputs for every attempt. If an answer gets the expected hint for most inputs
and a different hint for a few, some students get a misleading hint.
"""

import importlib
import sys

import torch

import simulated_cuda
from tests.helpers.checks.collection import LABS


def count_inconsistent_answers(lab: str, seeds: range, machine: str) -> int:
    """Print and count the answers to a lab that do not always get the expected hint."""
    count = 0
    answers = importlib.import_module(f"tests.helpers.checks.{lab}_answers").answers
    for answer in answers.collected:
        exercise = answers.checks.lab.exercises[answer.exercise]
        seeds_by_hint = {}
        for seed in seeds:
            verdict = exercise.judge(*answer.arguments(), seed=seed)
            if verdict.hint != answer.hint:
                seeds_by_hint.setdefault(verdict.hint, []).append(seed)
        if seeds_by_hint:
            count += 1
            print(f"{lab} {answer.exercise} {answer.name} ({machine}): {seeds_by_hint}", flush=True)
    return count


def main(num_seeds: str = "20", *labs: str) -> None:
    """Check the answers of the labs, on the simulated GPU and on this machine's devices."""
    torch.set_num_threads(1)
    count = 0
    for lab in labs or LABS:
        with simulated_cuda.simulated(devices=2, over_real=True):
            count += count_inconsistent_answers(lab, range(int(num_seeds)), "simulated GPU")
        count += count_inconsistent_answers(lab, range(int(num_seeds)), "this machine")
    sys.exit(f"{count} answers do not always get the expected hint." if count else None)


if __name__ == "__main__":
    main(*sys.argv[1:])
