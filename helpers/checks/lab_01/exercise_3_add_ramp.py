"""Lab 01, exercise 3: the check of `add_ramp`, and its hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_01.shared import MOVING, is_tensor, lab

_LIVES = "Where a tensor lives"

NOT_ADDED = Hint(
    "no-tensor",
    "`add_ramp` returns a {what}; a tensor of shape {shape} is asked for.",
    "What do you return: the sum, or something on the way to it?",
    _LIVES,
)

WRONG_SHAPE = Hint(
    "wrong-shape",
    "For an X of shape {given}, `add_ramp` returns the shape {found}.",
    "The result has the shape of X. Which of its two lengths is the number of columns?",
    _LIVES,
)

WRONG_PLACE = Hint(
    "result-elsewhere",
    "X is on {given}, and what `add_ramp` returns is on {found}.",
    "The result should be where X is, whichever device that is. Where does your code learn it?",
    _LIVES,
)

WRONG_RAMP = Hint(
    "wrong-ramp",
    "Column 0 should stay as it is, column 1 grow by 1, column 2 by 2. For an X of shape {given} "
    "that is not so.",
    "Print what you add to X. Where does it begin, which way does it run, and how long is it?",
    _LIVES,
)

RAMP_DTYPE = Hint(
    "dtype-changed",
    "X is {before}, and what `add_ramp` returns is {after}.",
    "Of which type is what you add? Ask X for its own.",
    _LIVES,
)

CALLERS_X = Hint(
    "input-changed",
    "After the call, X itself holds other numbers than before.",
    "Some operations write into the tensor on their left. Make a new tensor instead.",
    MOVING,
)

CARRIED = Hint(
    "carried",
    "X is on {device}, and your function carries {bytes} bytes between devices to get there.",
    "Nothing needs to be carried if the numbers are made where they are needed. Which call makes "
    "them, and where?",
    _LIVES,
)


@lab.exercise(3, points=2, right="The ramp is made where X is, and nothing is carried.")
def exercise_3(trial: Trial, add_ramp: Callable[..., Any]) -> None:
    """`add_ramp(X)`: X plus 0, 1, 2, ... along its columns, made on X's device."""
    kinds = [torch.float64, torch.float32, torch.float32]
    for device, dtype in zip(trial.devices, kinds, strict=False):
        rows = trial.random.randint(2, 6)
        for shape in ((rows, rows + trial.random.randint(1, 5)), (rows, rows), (rows + 3, 1)):
            X = trial.normal(*shape, device=device, dtype=dtype)
            before = X.clone()
            with trial.watch() as watch:
                result = trial.call(add_ramp, X)
            trial.expect_result(result)
            trial.expect(torch.equal(X, before), CALLERS_X)
            what = type(result).__name__
            trial.expect(is_tensor(result), NOT_ADDED, what=what, shape=shape)
            trial.expect(result.device == device, WRONG_PLACE, given=device, found=result.device)
            found = tuple(result.shape)
            trial.expect(found == shape, WRONG_SHAPE, given=shape, found=found)
            trial.expect(result.dtype == dtype, RAMP_DTYPE, before=dtype, after=result.dtype)
            ramp = torch.arange(shape[1], dtype=torch.float64)
            close = torch.allclose(result.cpu().double(), before.cpu().double() + ramp, atol=1e-3)
            trial.expect(close, WRONG_RAMP, given=shape)
            carried = sum(move.bytes for move in watch.moves)
            trial.expect(not carried, CARRIED, device=device, bytes=carried)
