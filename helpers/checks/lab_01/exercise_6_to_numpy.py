"""Lab 01, exercise 6: `to_numpy`."""

import numpy as np
import torch

from helpers.checks.descriptions import describe, one_line
from helpers.checks.lab_01.shared import lab
from helpers.checks.trial import Answer, Trial, is_stub_error
from helpers.language import translate


@lab.exercise(6, points=2, success_message="Any tensor becomes an array with its own memory.")
def exercise_6(trial: Trial, to_numpy: Answer) -> None:
    """`to_numpy(X)`: an array with its own memory, from any device."""
    for device in trial.devices:
        for requires_grad in (False, True):
            dtype = trial.random.choice([torch.float32, torch.float64])
            rows = trial.random.randint(2, 5)
            shape = (rows, rows + trial.random.randint(1, 3))
            X = trial.normal(*shape, device=device, dtype=dtype, requires_grad=requires_grad)
            _check_to_numpy(trial, to_numpy, X)
    integers = trial.integers(-99, 99, (trial.random.randint(2, 9),), trial.device, torch.int16)
    _check_to_numpy(trial, to_numpy, integers)


def _check_to_numpy(trial: Trial, to_numpy: Answer, X: torch.Tensor) -> None:
    expected = np.array(X.detach().cpu().tolist(), dtype=str(X.dtype).removeprefix("torch."))
    before = X.device, X.requires_grad
    outcome = trial.try_call(to_numpy, X)
    if outcome.error is not None:
        kind = translate("on {device}", device=X.device)
        if X.requires_grad:
            kind = translate("on {device} that requires a gradient", device=X.device)
        is_refusal = isinstance(outcome.error, TypeError | RuntimeError)
        # The stub's NotImplementedError is a RuntimeError, and its message contains "numpy".
        if is_refusal and not is_stub_error(outcome.error) and "numpy" in str(outcome.error):
            raise trial.wrong("numpy-refuses", kind=kind, error=one_line(outcome.error))
        raise trial.hint_for(outcome.error)
    array = outcome.value
    trial.expect_result(array)
    is_array = isinstance(array, np.ndarray)
    trial.expect(is_array, "not-an-array", what=describe(array))
    gradient_lost = before[1] and not X.requires_grad
    gradient_text = translate("it no longer requires a gradient")
    trial.expect(not gradient_lost, "tensor-changed", what=gradient_text)
    device_text = translate("it is on {device}", device=X.device)
    trial.expect(X.device == before[0], "tensor-changed", what=device_text)
    descriptions = [
        translate("of shape {shape} and type {dtype}", shape=a.shape, dtype=a.dtype)
        for a in (array, expected)
    ]
    same_type = array.shape == expected.shape and array.dtype == expected.dtype
    trial.expect(same_type, "wrong-array", found=descriptions[0], given=descriptions[1])
    trial.expect(np.array_equal(array, expected), "wrong-numbers")
    trial.expect(array.flags.writeable, "shared-memory")
    array += 1
    unchanged = np.array_equal(np.array(X.detach().cpu().tolist(), dtype=expected.dtype), expected)
    trial.expect(unchanged, "shared-memory")
