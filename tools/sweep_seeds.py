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
    """Check the answers of all labs, or of those like "lab_05" or "lab_05/test_exercise_2"."""
    torch.set_num_threads(1)
    num_answers = num_inconsistent = 0
    files = {str(f.relative_to(_TESTS)): f for f in _TESTS.glob("lab_*/test_exercise_*.py")}
    for name, file in sorted(files.items()):
        if labs and not name.startswith(labs):
            continue
        answers = import_module(f"tests.helpers.checks.{file.parent.name}.{file.stem}").answers
        for answer, hint in answers.collected:
            num_answers += 1
            arguments = answers.arguments(answer)
            verdicts = [answers.exercise.check(*arguments, seed=i) for i in range(int(num_seeds))]
            seeds = [verdict.seed for verdict in verdicts if verdict.hint != hint]
            if seeds:
                num_inconsistent += 1
                counts = Counter(verdict.hint for verdict in verdicts)
                where = f"{file.parent.name} {file.stem} {answer.__name__}"
                print(f"{where}: {dict(counts)}, seeds {seeds[:9]}", flush=True)
    if num_inconsistent or not num_answers:
        sys.exit(
            f"{num_inconsistent} of {num_answers} answers do not always get the expected hint."
        )
    print(f"{num_answers} answers, {num_seeds} seeds each: all as expected.")


if __name__ == "__main__":
    main(*sys.argv[1:])
