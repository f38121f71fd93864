"""Lab 01, exercise 4: the check of `gpu_bytes`, and its hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_01.shared import lab

_MEMORY = "How much memory a tensor takes"

NOT_A_NUMBER = Hint(
    "not-a-whole-number",
    "`gpu_bytes` returns {what}; a whole number (int) of bytes is asked for.",
    "Bytes come whole. Does a division in your function make a fraction of them?",
    _MEMORY,
)

ALLOCATES = Hint(
    "allocates",
    "For the shape {shape}, `gpu_bytes` tries to make the tensor, which is larger than any memory.",
    "You know the shape and the type. Which numbers do you need of them, and none of the tensor?",
    _MEMORY,
)

NOT_ROUNDED = Hint(
    "not-rounded",
    "For {dtype} and the shape {shape}, {found} bytes is what the numbers take, and torch hands "
    "out more than that.",
    "How large are the pieces in which torch hands out the memory of a GPU?",
    _MEMORY,
)

WRONG_PIECES = Hint(
    "wrong-pieces",
    "For {dtype} and the shape {shape}, your answer is {found} bytes. As many pieces as are "
    "needed, and no more, is another number.",
    "Try sizes just below, at and just above a multiple of 512: how many pieces does each need?",
    _MEMORY,
)

OTHER_TYPE = Hint(
    "dtype-ignored",
    "Your answer for {dtype} is that of a type with {size} bytes a number.",
    "What does one element of this type take? torch can tell you.",
    _MEMORY,
)

WRONG_BYTES = Hint(
    "wrong-bytes",
    "For {dtype} and the shape {shape}, your answer is {found} bytes.",
    "How many numbers does a tensor of this shape have? Try `()`, `(3,)` and `(0, 5)` too.",
    _MEMORY,
)


@lab.exercise(4, points=2, right="You can tell what fits before you try it.")
def exercise_4(trial: Trial, gpu_bytes: Callable[..., Any]) -> None:
    """`gpu_bytes(shape, dtype)`: what torch hands out for such a tensor on a GPU."""
    draw = trial.random.randint
    # More than two pieces of 512 bytes each, so that no mistake looks like another one.
    cases = [((draw(5, 9), draw(8, 30), draw(31, 60)), d) for d in _SIZES]
    cases += [((128 * draw(2, 9),), torch.float32), ((64 * draw(2, 9) + 1,), torch.float64)]
    cases += [((), torch.uint8), ((draw(1, 100),), torch.uint8), ((0, draw(2, 9)), torch.float32)]
    cases += [((2**20, 2**23 + draw(1, 9)), torch.float16)]
    for shape, dtype in cases:
        numbers = int(np.prod(shape, dtype=np.int64))
        exact = numbers * _SIZES[dtype]
        outcome = trial.outcome(gpu_bytes, shape, dtype)
        if outcome.error is not None:
            full = isinstance(outcome.error, torch.OutOfMemoryError | MemoryError)
            if numbers > 2**40 and (full or "allocate" in str(outcome.error)):
                raise ALLOCATES.of(shape=shape)
            raise trial.why(outcome.error)
        found = outcome.value
        trial.expect_result(found)
        whole = isinstance(found, int) and not isinstance(found, bool)
        trial.expect(whole, NOT_A_NUMBER, what=f"{found!r}")
        if found == _rounded(exact):
            continue
        told = {"dtype": str(dtype).removeprefix("torch."), "shape": shape}
        if found == exact:
            raise NOT_ROUNDED.of(found=found, **told)
        for size in {1, 2, 4, 8} - {_SIZES[dtype]}:
            if found in (numbers * size, _rounded(numbers * size)) and numbers > 512:
                raise OTHER_TYPE.of(size=size, **told)
        hint = WRONG_PIECES if found % 512 == 0 and abs(found - exact) <= 512 else WRONG_BYTES
        raise hint.of(found=found, **told)


_SIZES = {torch.uint8: 1, torch.float16: 2, torch.float32: 4, torch.float64: 8}


def _rounded(size: int) -> int:
    return (size + 511) // 512 * 512
