"""Lab 01, exercise 6: `to_numpy`."""

import numpy as np
import torch

from helpers.checks.lab_01.shared import lab
from helpers.checks.trial import Answer, Trial, describe, one_line
from helpers.language import translate


@lab.exercise(6, points=2, right="Any tensor becomes an array with its own memory.")
def exercise_6(trial: Trial, to_numpy: Answer) -> None:
    """`to_numpy(X)`: an array with its own memory, from any device."""
    for device in trial.devices:
        for gradients in (False, True):
            dtype = trial.random.choice([torch.float32, torch.float64])
            shape = (trial.random.randint(2, 5), trial.random.randint(2, 5))
            X = trial.normal(*shape, device=device, dtype=dtype, requires_grad=gradients)
            _check_to_numpy(trial, to_numpy, X)
    whole = trial.integers(-99, 99, (trial.random.randint(2, 9),), trial.device, torch.int16)
    _check_to_numpy(trial, to_numpy, whole)


def _check_to_numpy(trial: Trial, to_numpy: Answer, X: torch.Tensor) -> None:
    expected = np.array(X.detach().cpu().tolist(), dtype=str(X.dtype).removeprefix("torch."))
    given = X.device, X.requires_grad
    called = trial.try_call(to_numpy, X)
    if called.error is not None:
        kind = translate("on {device}", device=X.device)
        if X.requires_grad:
            kind = translate("on {device} that requires a gradient", device=X.device)
        refused = isinstance(called.error, TypeError | RuntimeError)
        # NotImplementedError is a subclass of RuntimeError.
        stub = isinstance(called.error, NotImplementedError)
        if refused and not stub and "numpy" in str(called.error):
            raise trial.wrong("refused", kind=kind, error=one_line(called.error))
        raise trial.why(called.error)
    array = called.value
    trial.expect_result(array)
    good = isinstance(array, np.ndarray)
    trial.expect(good, "not-an-array", what=describe(array))
    lost = given[1] and not X.requires_grad
    gone = translate("it no longer requires a gradient")
    trial.expect(not lost, "tensor-changed", what=gone)
    where = translate("it is on {device}", device=X.device)
    trial.expect(X.device == given[0], "tensor-changed", what=where)
    shown = [
        translate("of shape {shape} and type {dtype}", shape=a.shape, dtype=a.dtype)
        for a in (array, expected)
    ]
    same = array.shape == expected.shape and array.dtype == expected.dtype
    trial.expect(same, "wrong-array", found=shown[0], given=shown[1])
    equal = np.array_equal(array, expected)
    trial.expect(equal, "wrong-array", found=translate("made of other numbers"), given=shown[1])
    trial.expect(array.flags.writeable, "shared-memory")
    array += 1
    kept = np.array_equal(np.array(X.detach().cpu().tolist(), dtype=expected.dtype), expected)
    trial.expect(kept, "shared-memory")
