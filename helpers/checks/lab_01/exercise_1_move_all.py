"""Lab 01, exercise 1: `move_all`."""

import operator

import torch

from helpers.checks.comparing import is_tensor
from helpers.checks.lab_01.shared import lab
from helpers.checks.trial import Answer, Trial, describe


@lab.exercise(
    1,
    points=2,
    right="Every tensor is on the right device, and none was copied needlessly.",
)
def exercise_1(trial: Trial, move_all: Answer) -> None:
    """`move_all(tensors, device)`: a new list with every tensor on `device`."""
    kinds = [torch.float32, torch.float16, torch.int64, torch.float64]
    for target in [*trial.devices, str(trial.device)]:
        for count in (trial.random.randint(2, 5), 0):
            given = [
                trial.normal(3, i + 1, device=trial.devices[i % 2 - 1]).mul(9).to(kinds[i % 4])
                for i in range(count)
            ]
            before = list(given)
            result = trial.result_of(move_all, given, target)
            unchanged = len(given) == count and all(map(operator.is_, given, before))
            trial.expect(unchanged, "input-changed")
            good = isinstance(result, list) and len(result) == count
            what = describe(result)
            trial.expect(good and all(map(is_tensor, result)), "no-list", what=what, count=count)
            _compare_moved(trial, before, result, torch.device(target))


def _compare_moved(
    trial: Trial, before: list[torch.Tensor], result: list[torch.Tensor], target: torch.device
) -> None:
    for was, now in zip(before, result, strict=True):
        if now.device != target:
            hint = "result-dropped" if now.device == was.device else "other-device"
            raise trial.wrong(hint, wanted=target, found=now.device)
    for was, now in zip(before, result, strict=True):
        trial.expect(now.dtype == was.dtype, "dtype-changed", before=was.dtype, after=now.dtype)
        trial.expect(torch.equal(now.cpu(), was.cpu()), "wrong-numbers")
        there = was.device == target
        trial.expect(not there or now is was, "needless-copy", device=target)
