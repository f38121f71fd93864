"""Lab 01, exercise 3: `add_ramp`."""

import torch

from helpers.checks.comparing import is_tensor
from helpers.checks.descriptions import describe
from helpers.checks.lab_01.shared import lab
from helpers.checks.trial import Answer, Trial


@lab.exercise(
    3, points=2, success_message="The numbers are created where X is, and nothing is copied."
)
def exercise_3(trial: Trial, add_ramp: Answer) -> None:
    """`add_ramp(X)`: X plus 0, 1, 2, ... along its columns, created on the device of X."""
    dtypes = [torch.float64, torch.float16, torch.float32]
    for device, dtype in zip(trial.devices, dtypes, strict=False):
        rows = trial.random.randint(2, 6)
        for shape in ((rows, rows + trial.random.randint(1, 5)), (rows, rows), (rows + 3, 1)):
            X = trial.normal(*shape, device=device, dtype=dtype)
            before = X.clone()
            with trial.watch() as watch:
                result = trial.result_of(add_ramp, X)
            trial.expect(torch.equal(X, before), "input-changed")
            trial.expect(is_tensor(result), "not-a-tensor", what=describe(result), shape=shape)
            trial.expect(
                result.device == device, "result-elsewhere", given=device, found=result.device
            )
            result_shape = tuple(result.shape)
            trial.expect(result_shape == shape, "wrong-shape", given=shape, found=result_shape)
            trial.expect(result.dtype == dtype, "dtype-changed", before=dtype, after=result.dtype)
            ramp = torch.arange(shape[1], dtype=torch.float64)
            # Half precision rounds numbers near 10 to steps of 0.008.
            atol = 0.02 if dtype == torch.float16 else 1e-3
            close = torch.allclose(result.cpu().double(), before.cpu().double() + ramp, atol=atol)
            trial.expect(close, "wrong-ramp", given=shape)
            copied_bytes = sum(move.bytes for move in watch.moves)
            trial.expect(not copied_bytes, "copied", device=device, bytes=copied_bytes)
