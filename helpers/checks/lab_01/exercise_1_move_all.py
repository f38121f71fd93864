"""Lab 01, exercise 1: `move_all`."""

import operator

import torch

from helpers.checks.comparing import is_tensor
from helpers.checks.descriptions import describe
from helpers.checks.lab_01.shared import lab
from helpers.checks.trial import Answer, Trial


@lab.exercise(
    1,
    points=2,
    success_message="Every tensor is on the right device, and none was copied needlessly.",
)
def exercise_1(trial: Trial, move_all: Answer) -> None:
    """`move_all(tensors, device)`: a new list with every tensor on `device`."""
    dtypes = [torch.float32, torch.float16, torch.int64, torch.float64]
    for target in [*trial.devices, str(trial.device)]:
        for count in (trial.random.randint(2, 5), 0):
            tensors = [
                trial.normal(3, i + 1, device=trial.devices[i % 2 - 1]).mul(9).to(dtypes[i % 4])
                for i in range(count)
            ]
            before = list(tensors)
            result = trial.result_of(move_all, tensors, target)
            unchanged = len(tensors) == count and all(map(operator.is_, tensors, before))
            trial.expect(unchanged, "input-changed")
            is_list = isinstance(result, list) and len(result) == count
            what = describe(result)
            trial.expect(
                is_list and all(map(is_tensor, result)), "not-a-list", what=what, count=count
            )
            _compare_moved(trial, before, result, torch.device(target))


def _compare_moved(
    trial: Trial, before: list[torch.Tensor], result: list[torch.Tensor], target: torch.device
) -> None:
    for old, new in zip(before, result, strict=True):
        if new.device != target:
            hint = "result-dropped" if new.device == old.device else "different-device"
            raise trial.wrong(hint, wanted=target, found=new.device)
    for old, new in zip(before, result, strict=True):
        trial.expect(new.dtype == old.dtype, "dtype-changed", before=old.dtype, after=new.dtype)
        trial.expect(torch.equal(new.cpu(), old.cpu()), "wrong-numbers")
        on_target = old.device == target
        trial.expect(not on_target or new is old, "needless-copy", device=target)
