"""Lab 01, exercise 4: `gpu_bytes`."""

import numpy as np
import torch

from helpers.checks.descriptions import is_int
from helpers.checks.lab_01.shared import lab
from helpers.checks.trial import Answer, Trial


@lab.exercise(
    4, points=2, success_message="You can tell whether a tensor fits before you create it."
)
def exercise_4(trial: Trial, gpu_bytes: Answer) -> None:
    """`gpu_bytes(shape, dtype)`: the bytes that torch allocates for such a tensor on a GPU."""
    draw = trial.random.randint
    # More than two blocks of 512 bytes each, so that each mistake gives a different result.
    cases = [((draw(5, 9), draw(8, 30), draw(31, 60)), d) for d in _SIZES]
    cases += [((128 * draw(2, 9),), torch.float32), ((64 * draw(2, 9) + 1,), torch.float64)]
    cases += [((), torch.uint8), ((draw(1, 100),), torch.uint8), ((0, draw(2, 9)), torch.float32)]
    cases += [((2**20, 2**23 + draw(1, 9)), torch.float16)]
    for shape, dtype in cases:
        elements = int(np.prod(shape, dtype=np.int64))
        exact = elements * _SIZES[dtype]
        outcome = trial.try_call(gpu_bytes, shape, dtype)
        if outcome.error is not None:
            out_of_memory = isinstance(outcome.error, torch.OutOfMemoryError | MemoryError)
            if elements > 2**40 and (out_of_memory or "allocate" in str(outcome.error)):
                raise trial.wrong("allocates", shape=shape)
            raise trial.hint_for(outcome.error)
        result = outcome.value
        trial.expect_result(result)
        is_whole = is_int(result)
        trial.expect(is_whole, "not-a-whole-number", what=f"{result!r}")
        if result == _rounded(exact):
            continue
        details = {"dtype": str(dtype).removeprefix("torch."), "shape": shape}
        if result == exact:
            raise trial.wrong("not-rounded", found=result, **details)
        for size in {1, 2, 4, 8} - {_SIZES[dtype]}:
            if result in (elements * size, _rounded(elements * size)) and elements > 512:
                raise trial.wrong("dtype-ignored", size=size, **details)
        hint = "wrong-blocks" if result % 512 == 0 and abs(result - exact) <= 512 else "wrong-bytes"
        raise trial.wrong(hint, found=result, **details)


_SIZES = {torch.uint8: 1, torch.float16: 2, torch.float32: 4, torch.float64: 8}


def _rounded(size: int) -> int:
    return (size + 511) // 512 * 512
