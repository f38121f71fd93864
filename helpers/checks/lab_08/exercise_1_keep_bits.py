"""Lab 08, exercise 1: `keep_bits`."""

from typing import Any

import torch
from torch import Tensor

from helpers.checks.descriptions import describe
from helpers.checks.hints import WrongAnswer
from helpers.checks.lab_08.shared import lab
from helpers.checks.trial import Answer, Trial


@lab.exercise(1, points=3, success_message="You can round a number to a mantissa of any length.")
def exercise_1(trial: Trial, keep_bits: Answer) -> None:
    """`keep_bits(x, mantissa)`: x, rounded to the nearest number with fewer mantissa bits."""
    for device in trial.devices:
        for index, mantissa in enumerate(_mantissas(trial)):
            ties, others = _ties(trial, mantissa), _random_and_fixed_values(trial)
            inputs = torch.cat([ties, others])
            x = inputs.clone().to(device)
            result = trial.result_of(keep_bits, x, mantissa)
            _check_type(trial, result, x)
            trial.expect(torch.equal(x.cpu(), inputs), "input-changed")
            expected, output = _round(inputs, mantissa), result.detach().cpu()
            try:
                _check_numbers(trial, inputs, output, expected, mantissa, len(ties))
            except WrongAnswer:
                if index:
                    rounds_to_seven = torch.equal(output, _round(inputs, 7))
                    trial.expect(not rounds_to_seven, "always-seven", mantissa=mantissa)
                raise


def _mantissas(trial: Trial) -> list[int]:
    # 7 first, so that an answer that works only for bf16 gets its own hint.
    return [7, 1, trial.random.randint(2, 6), trial.random.randint(8, 20)]


def _ties(trial: Trial, mantissa: int) -> Tensor:
    """Return numbers halfway between two numbers with `mantissa` bits, of either sign."""
    steps = trial.integers(0, 2**mantissa, (20,)).double()
    signs = 2.0 * trial.integers(0, 2, (20,)) - 1
    return (signs * (1 + (steps + 0.5) / 2**mantissa)).float()


def _random_and_fixed_values(trial: Trial) -> Tensor:
    powers = 2.0 ** trial.integers(-30, 30, (200,))
    fixed_values = torch.tensor([0.0, 1.0, -1.0, 1.99999, 70_000.0, -1e-6])
    return torch.cat([trial.normal(200) * powers, fixed_values])


def _round(x: Tensor, mantissa: int) -> Tensor:
    digits, exponent = torch.frexp(x.double())
    size = 2.0 ** (mantissa + 1)
    return torch.ldexp(torch.round(digits * size) / size, exponent).float()  # half to even


def _truncate(x: Tensor, mantissa: int) -> Tensor:
    digits, exponent = torch.frexp(x.double())
    size = 2.0 ** (mantissa + 1)
    return torch.ldexp(torch.trunc(digits * size) / size, exponent).float()


def _check_type(trial: Trial, result: Any, x: Tensor) -> None:
    right_shape = isinstance(result, Tensor) and result.shape == x.shape
    trial.expect(right_shape, "not-a-tensor", what=describe(result), shape=tuple(x.shape))
    trial.expect(result.dtype == torch.float32, "different-dtype", found=result.dtype)
    trial.expect(result.device == x.device, "elsewhere", given=x.device, found=result.device)


def _check_numbers(
    trial: Trial, inputs: Tensor, output: Tensor, expected: Tensor, mantissa: int, ties: int
) -> None:
    not_finite = inputs[~output.isfinite()]
    trial.expect(
        not len(not_finite),
        "not-finite",
        given=f"{not_finite[0].item() if len(not_finite) else 0:g}",
    )
    negated = (output.abs() == expected.abs()) & (output != expected)
    trial.expect(not negated.any(), "sign-lost")
    wrong = output != expected
    if not wrong.any():
        return
    details = {"mantissa": mantissa, "given": f"{inputs[wrong][0].item():.9g}"}
    details["found"] = f"{output[wrong][0].item():.9g}"
    truncated = torch.equal(output, _truncate(inputs, mantissa))
    trial.expect(not truncated, "truncated", **details)
    trial.expect(wrong[ties:].any(), "wrong-tie", **details)
    raise trial.wrong("not-nearest", **details)
