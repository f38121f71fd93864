"""Lab 01, exercise 3: add 0, 1, 2, ... to the columns of a matrix, on its device."""

import torch

from helpers.checks.plain import is_tensor

answers = "add_ramp(X)"
points = 2
success = "The numbers are created where X is, and nothing is copied."
section = "Where a tensor lives"
# Half precision rounds numbers near 10 to steps of 0.008.
tolerance = 0.02

DTYPES = (torch.float64, torch.float16, torch.float32)


def cases(draw):
    for device, dtype in zip(draw.devices, DTYPES, strict=False):
        rows = draw.randint(2, 6)
        for shape in ((rows, rows + draw.randint(1, 5)), (rows, rows), (rows + 3, 1)):
            X = draw.normal(*shape, device=device, dtype=dtype)
            yield {"X": X, "device": device, "shape": shape, "given": shape}


def right(case):
    X = case.X.values
    return X + torch.arange(X.shape[1], dtype=X.dtype)


questions = ["result-elsewhere", "wrong-shape", "dtype-changed", "input-changed", "copied"]
returns = ("not-a-tensor", lambda value, case: is_tensor(value))
mistakes = {"wrong-ramp": True}
hints = """
not-a-tensor: `add_ramp` returns {what}, but it should return a tensor of shape {shape}.
    -> What do you return: the sum, or an intermediate result?
wrong-shape: For an X of shape {given}, `add_ramp` returns shape {found}.
    -> The result has the shape of X. Which entry of that shape is the number of columns?
wrong-ramp: For an X of shape {given}, the result is wrong: column 0 should not change, column 1
    should grow by 1, column 2 by 2.
    -> Print what you add to X. What is its first value, which way does it grow, how long is it?
dtype-changed: X is {before}, but the result of `add_ramp` is {after}.
    -> Which dtype does the tensor that you add have? `X.dtype` is the dtype of X.
"""
