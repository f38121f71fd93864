"""Lab 01, exercise 6: the check of `to_numpy`, and its hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_01.shared import MOVING, WAITING, lab

NOT_AN_ARRAY = Hint(
    "not-an-array",
    "`to_numpy` returns a {what}; a NumPy array is asked for.",
    "A list or a tensor has the numbers too, and is no array. Which method makes one?",
    WAITING,
)

REFUSED = Hint(
    "refused",
    "For a tensor {kind}, `to_numpy` stops with {error}.",
    "Read what the message says to call first, and try a tensor of this kind yourself.",
    WAITING,
)

SHARED = Hint(
    "shared-memory",
    "For a tensor on the CPU, writing into the array changes the tensor too.",
    "An array made from a CPU tensor uses the tensor's own memory. When is a copy made, and when "
    "not?",
    MOVING,
)

TENSOR_CHANGED = Hint(
    "tensor-changed",
    "After the call, the tensor that was handed in is another: {what}.",
    "Methods whose name ends in an underscore, and some settings, change the tensor itself.",
    MOVING,
)

ARRAY_DIFFERS = Hint(
    "wrong-array",
    "The array is {found}; the tensor is {given}.",
    "Shape, type and numbers should all be those of the tensor.",
    WAITING,
)


@lab.exercise(6, points=2, right="Any tensor becomes an array that is yours alone.")
def exercise_6(trial: Trial, to_numpy: Callable[..., Any]) -> None:
    """`to_numpy(X)`: an array of its own, from any device, gradients or not."""
    for device in trial.devices:
        for gradients in (False, True):
            dtype = trial.random.choice([torch.float32, torch.float64])
            shape = (trial.random.randint(2, 5), trial.random.randint(2, 5))
            X = trial.normal(*shape, device=device, dtype=dtype, requires_grad=gradients)
            _check_to_numpy(trial, to_numpy, X)
    whole = trial.integers(-99, 99, (trial.random.randint(2, 9),), trial.device, torch.int16)
    _check_to_numpy(trial, to_numpy, whole)


def _check_to_numpy(trial: Trial, to_numpy: Callable[..., Any], X: torch.Tensor) -> None:
    expected = np.array(X.detach().cpu().tolist(), dtype=str(X.dtype).removeprefix("torch."))
    given = X.device, X.requires_grad
    outcome = trial.outcome(to_numpy, X)
    if outcome.error is not None:
        kind = f"on {X.device}{' that needs a gradient' if X.requires_grad else ''}"
        refused = isinstance(outcome.error, TypeError | RuntimeError)
        # A stub's error is a RuntimeError too.
        stub = isinstance(outcome.error, NotImplementedError)
        if refused and not stub and "numpy" in str(outcome.error):
            error = f"{type(outcome.error).__name__}: {outcome.error}"
            raise REFUSED.of(kind=kind, error=error.rstrip("."))
        raise trial.why(outcome.error)
    array = outcome.value
    trial.expect_result(array)
    good = isinstance(array, np.ndarray)
    trial.expect(good, NOT_AN_ARRAY, what=type(array).__name__)
    lost = given[1] and not X.requires_grad
    trial.expect(not lost, TENSOR_CHANGED, what="it no longer needs a gradient")
    trial.expect(X.device == given[0], TENSOR_CHANGED, what=f"it is on {X.device}")
    shown = [f"of shape {a.shape} and type {a.dtype}" for a in (array, expected)]
    same = array.shape == expected.shape and array.dtype == expected.dtype
    trial.expect(same, ARRAY_DIFFERS, found=shown[0], given=shown[1])
    equal = np.array_equal(array, expected)
    trial.expect(equal, ARRAY_DIFFERS, found="of other numbers", given=shown[1])
    trial.expect(array.flags.writeable, SHARED)
    array += 1
    kept = np.array_equal(np.array(X.detach().cpu().tolist(), dtype=expected.dtype), expected)
    trial.expect(kept, SHARED)
