"""Check every collected answer with many inputs: `python -m tools.sweep_seeds [N [LAB ...]]`.

A check generates new inputs for every attempt. If an answer gets the expected hint for most inputs
and a different hint for a few, some students get a misleading hint.
"""

import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import torch

_TESTS = Path(__file__).parents[1] / "tests" / "helpers" / "checks"


def main(num_seeds: str = "20", *labs: str) -> None:
    """Check the answers of the labs, such as "lab_05"; of all labs by default."""
    torch.set_num_threads(1)
    num_inconsistent = 0
    for file in sorted(_TESTS.glob("lab_*/test_exercise_*.py")):
        if labs and file.parent.name not in labs:
            continue
        answers = import_module(f"tests.helpers.checks.{file.parent.name}.{file.stem}").answers
        for answer, hint in answers.collected:
            arguments = answers.arguments(answer)
            verdicts = [answers.exercise.check(*arguments, seed=i) for i in range(int(num_seeds))]
            seeds = [verdict.seed for verdict in verdicts if verdict.hint != hint]
            if seeds:
                num_inconsistent += 1
                counts = Counter(verdict.hint for verdict in verdicts)
                where = f"{file.parent.name} {file.stem} {answer.__name__}"
                print(f"{where}: {dict(counts)}, seeds {seeds[:9]}", flush=True)
    if num_inconsistent:
        sys.exit(f"{num_inconsistent} answers do not always get the expected hint.")


if __name__ == "__main__":
    main(*sys.argv[1:])
