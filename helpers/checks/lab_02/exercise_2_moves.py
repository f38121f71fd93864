"""Lab 02, exercise 2: `moves`, one move for each of seven messages."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from helpers.checks.descriptions import describe
from helpers.checks.lab_02.shared import lab
from helpers.checks.trial import Answer, Trial
from helpers.language import translate


@dataclass(frozen=True)
class MixedLine:
    """A line of code that mixes devices.

    Attributes:
        code: the line, as the lab shows it.
        run: a function that executes the line, with its tensors as arguments.
        tensors: the shape of each tensor, its device, and whether it contains indices, by name.
        goal: the expected device of the result.
        goal_text: the goal as a sentence for the hint.
    """

    code: str
    run: Callable[..., Any]
    tensors: dict[str, tuple[tuple[int, ...], str, bool]]
    goal: str
    goal_text: str

    def values(self) -> dict[str, Tensor]:
        """Return the tensors by name, each on its device."""
        return {
            name: torch.zeros(shape, dtype=torch.int64 if indices else torch.float32, device=device)
            for name, (shape, device, indices) in self.tensors.items()
        }


# The answers are not stored here: the check runs each line after the student's move.
LINES = {
    "A": MixedLine(
        "loss = F.cross_entropy(scores, labels)",
        lambda scores, labels: F.cross_entropy(scores, labels),
        {"scores": ((4, 3), "cuda:0", False), "labels": ((4,), "cpu", True)},
        "cuda:0",
        "the result should be on `cuda:0`",
    ),
    "B": MixedLine(
        "scores = images @ weights",
        lambda images, weights: images @ weights,
        {"images": ((4, 3), "cpu", False), "weights": ((3, 2), "cuda:0", False)},
        "cuda:0",
        "the result should be on `cuda:0`",
    ),
    "C": MixedLine(
        "total = running + batch_mean",
        lambda running, batch_mean: running + batch_mean,
        {"running": ((3,), "cuda:1", False), "batch_mean": ((3,), "cuda:0", False)},
        "cuda:0",
        "the result should be on `cuda:0`",
    ),
    "D": MixedLine(
        "picked = table[rows]",
        lambda table, rows: table[rows],
        {"table": ((9, 2), "cpu", False), "rows": ((3,), "cuda:0", True)},
        "cpu",
        "the table should stay on the CPU",
    ),
    "E": MixedLine(
        "vectors = F.embedding(words, table)",
        lambda words, table: F.embedding(words, table),
        {"words": ((5,), "cpu", True), "table": ((9, 2), "cuda:0", False)},
        "cuda:0",
        "the result should be on `cuda:0`",
    ),
    "F": MixedLine(
        "edges = F.conv2d(images, kernel)",
        lambda images, kernel: F.conv2d(images, kernel),
        {"images": ((16, 3, 32, 32), "cpu", False), "kernel": ((6, 3, 5, 5), "cuda:0", False)},
        "cuda:0",
        "the result should be on `cuda:0`",
    ),
    "G": MixedLine(
        "array = scores.numpy()",
        lambda scores: torch.from_numpy(scores.numpy()),
        {"scores": ((4, 3), "cuda:0", False)},
        "cpu",
        "an array is always in the CPU's memory",
    ),
}


@lab.exercise(
    2, points=3, success_message="For every message you know which tensor moves, and where to."
)
def exercise_2(trial: Trial, moves: Answer) -> None:
    """`moves()`: for each line the name of the tensor that moves, and its new device."""
    result = trial.result_of(moves)
    is_plan = isinstance(result, Mapping) and set(result) == set(LINES)
    names = ", ".join(LINES)
    what = describe(result)
    if isinstance(result, Mapping):
        what = translate("a dictionary with the keys {keys}", keys=sorted(map(str, result)))
    trial.expect(is_plan, "not-a-plan", what=what, names=names)
    for line, mixed in LINES.items():
        is_pair = isinstance(result[line], tuple | list) and len(result[line]) == 2
        what = translate("{what} for line {line}", what=describe(result[line]), line=line)
        trial.expect(is_pair, "not-a-plan", what=what, names=names)
        with trial.machine_with(2):
            _try_move(trial, line, mixed, *result[line])


def _try_move(trial: Trial, line: str, mixed: MixedLine, name: Any, device: Any) -> None:
    known = isinstance(name, str) and name in mixed.tensors
    trial.expect(known, "no-such-name", line=line, name=name, code=mixed.code)
    known = str(device) in ("cpu", "cuda:0", "cuda:1")
    trial.expect(known, "no-such-device", line=line, device=str(device))
    values = mixed.values()
    already_there = str(values[name].device) == str(device)
    trial.expect(not already_there, "already-there", line=line, name=name, device=device)
    values[name] = values[name].to(device)
    try:
        result = mixed.run(**values)
    except (RuntimeError, TypeError):
        raise trial.wrong("still-mixes", line=line, name=name, device=device) from None
    trial.expect(
        str(result.device) == mixed.goal, "wrong-goal", line=line, goal=translate(mixed.goal_text)
    )
