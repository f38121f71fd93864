"""Lab 08, exercise 2: `largest_scale`."""

import math

import torch
from torch import Tensor

from helpers.checks.descriptions import describe, is_number
from helpers.checks.lab_08.shared import lab
from helpers.checks.trial import Answer, Trial

_LIMIT = 2.0**24


@lab.exercise(
    2, points=2, success_message="This scale uses the range of fp16 and does not overflow."
)
def exercise_2(trial: Trial, largest_scale: Answer) -> None:
    """`largest_scale(gradients)`: the largest power of 2 that keeps all gradients finite."""
    for device in trial.devices:
        # Each case: the exponents of the gradients' largest values, the limit of fp16, or zeros.
        for sizes in ((-4, -9, -7), (-9, -7, -1), (1, -5, -2), "limit", "zeros"):
            gradients = _gradients(trial, sizes)
            copies = [gradient.clone().to(device) for gradient in gradients]
            result = trial.result_of(largest_scale, copies)
            trial.expect(is_number(result), "not-a-number", what=describe(result))
            unchanged = all(torch.equal(a.cpu(), b) for a, b in zip(copies, gradients, strict=True))
            trial.expect(unchanged, "input-changed")
            _check_scale(trial, gradients, result)


def _gradients(trial: Trial, sizes: tuple[int, ...] | str) -> list[Tensor]:
    if sizes == "zeros":
        return [torch.zeros(3), torch.zeros(2, 2)]
    if sizes == "limit":
        # The norm of the first tensor, or the sum of its values, would not fit.
        return [torch.tensor([20.0, 65504 / 2**10]), torch.tensor([-1e-4])]
    gradients = []
    for power in sizes:
        values = trial.normal(3, 4) * 2.0 ** (power - 8)
        # The largest one is negative, so that a maximum without abs() gives a different number.
        values[1, 2] = -(1 + trial.random.random() / 2) * 2.0**power
        gradients.append(values)
    return gradients


def _fits(gradients: list[Tensor], scale: float) -> bool:
    return all((gradient.double() * scale).half().isfinite().all() for gradient in gradients)


def _check_scale(trial: Trial, gradients: list[Tensor], result: float) -> None:
    expected = _LIMIT
    while not _fits(gradients, expected):
        expected /= 2
    largest = max(gradient.abs().max().item() for gradient in gradients)
    is_exponent = expected != 1 and result == math.log2(expected) and result != expected
    trial.expect(not is_exponent, "exponent", found=f"{result:g}")
    trial.expect(result <= _LIMIT, "above-limit", found=f"{result:g}")
    is_power = result > 0 and math.frexp(result)[0] == 0.5
    trial.expect(is_power, "not-a-power", found=f"{result:g}")
    details = {"found": f"{result:,.0f}" if result >= 1 else f"{result:g}"}
    details |= {"largest": f"{largest:g}", "product": f"{largest * result:,.0f}"}
    trial.expect(_fits(gradients, result), "overflows", **details)
    trial.expect(result == expected, "too-small", **details)
