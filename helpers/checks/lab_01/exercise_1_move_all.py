"""Lab 01, exercise 1: the check of `move_all`, and its hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_01.shared import MOVING, is_tensor, lab

NO_LIST = Hint(
    "no-list",
    "`move_all` returns {what}; a list of {count} tensors is asked for.",
    "Collect one tensor for each that came in, in the same order, and return the list.",
    MOVING,
)

NOT_MOVED = Hint(
    "result-dropped",
    "You asked for {wanted}, and a tensor that `move_all` returns is still on {found}.",
    "`.to` leaves the tensor it is called on where it is. What does it give you, and where does "
    "your function keep that?",
    MOVING,
)

OTHER_DEVICE = Hint(
    "other-device",
    "You asked for {wanted}, and a tensor that `move_all` returns is on {found}.",
    "The device to go to is an argument of the function. Does your code use it for every tensor?",
    MOVING,
)

WRONG_NUMBERS = Hint(
    "wrong-numbers",
    "The tensors that come back do not hold the numbers of those that went in, in their order.",
    "Compare the first and the last tensor that come back with those that went in.",
    MOVING,
)

OTHER_DTYPE = Hint(
    "dtype-changed",
    "A {before} tensor comes back as {after}.",
    "A move should change where the numbers are and nothing else. Which part of your line names a "
    "type, or makes the numbers anew?",
    MOVING,
)

INPUT_CHANGED = Hint(
    "input-changed",
    "After the call, the list that was handed in is another: your function has changed it.",
    "Whoever calls your function may still need their list. Which line writes into it?",
    MOVING,
)

NEEDLESS_COPY = Hint(
    "needless-copy",
    "A tensor that was on {device} already was copied all the same.",
    "A plain move to where a tensor is costs nothing. What in your line forces a new tensor?",
    MOVING,
)


@lab.exercise(1, points=2, right="Every tensor goes where it was sent, and only if it has to.")
def exercise_1(trial: Trial, move_all: Callable[..., Any]) -> None:
    """`move_all(tensors, device)`: a new list with every tensor on `device`."""
    kinds = [torch.float32, torch.float16, torch.int64, torch.float64]
    for target in [*trial.devices, str(trial.device)]:
        for count in (trial.random.randint(2, 5), 0):
            given = [
                trial.normal(3, i + 1, device=trial.devices[i % 2 - 1]).mul(9).to(kinds[i % 4])
                for i in range(count)
            ]
            before = list(given)
            result = trial.call(move_all, given, target)
            trial.expect_result(result)
            unchanged = len(given) == count and all(map(_is, given, before))
            trial.expect(unchanged, INPUT_CHANGED)
            what = f"{type(result).__name__}"
            what = f"a list of {len(result)}" if isinstance(result, list) else f"a {what}"
            good = isinstance(result, list) and len(result) == count
            trial.expect(good and all(map(is_tensor, result)), NO_LIST, what=what, count=count)
            _compare_moved(trial, before, result, torch.device(target))


def _compare_moved(
    trial: Trial, before: list[torch.Tensor], result: list[torch.Tensor], target: torch.device
) -> None:
    for was, now in zip(before, result, strict=True):
        if now.device != target:
            hint = NOT_MOVED if now.device == was.device else OTHER_DEVICE
            raise hint.of(wanted=target, found=now.device)
    for was, now in zip(before, result, strict=True):
        trial.expect(now.dtype == was.dtype, OTHER_DTYPE, before=was.dtype, after=now.dtype)
        trial.expect(torch.equal(now.cpu(), was.cpu()), WRONG_NUMBERS)
        there = was.device == target
        trial.expect(not there or now is was, NEEDLESS_COPY, device=target)


def _is(one: object, other: object) -> bool:
    return one is other
