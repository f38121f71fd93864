"""Lab 08, exercise 1: round numbers to the nearest ones with fewer mantissa bits."""

import torch

from helpers.checks.exercise import STANDARD
from helpers.checks.plain import PlainTensor, describe, is_tensor

answers = "keep_bits(x, mantissa)"
points = 3
success = "You can round a number to a mantissa of any length."
section = "Numbers in 32, 16 and 8 bits"


def cases(draw):
    for device in draw.devices:
        # 7 first, so that an answer that works only for bf16 gets its own hint.
        for mantissa in (7, 1, draw.randint(2, 6), draw.randint(8, 20)):
            steps = draw.integers(0, 2**mantissa, (20,)).values.double()
            signs = 2.0 * draw.integers(0, 2, (20,)).values - 1
            ties = (signs * (1 + (steps + 0.5) / 2**mantissa)).float()
            others = draw.normal(200).values * 2.0 ** draw.integers(-30, 30, (200,)).values
            x = torch.cat([ties, others, torch.tensor([0.0, 1.0, -1.0, 1.99999, 70_000.0, -1e-6])])
            yield {"x": PlainTensor(x, device), "mantissa": mantissa, "device": device} | {
                "shape": tuple(x.shape)
            }


def rounded(case, mantissa, function=torch.round):  # which rounds half to even
    digits, exponent = torch.frexp(case.x.values.double())
    size = 2.0 ** (mantissa + 1)
    return torch.ldexp(function(digits * size) / size, exponent).float()


def right(case):
    return rounded(case, case.mantissa)


def describe_first(f, wrong):
    """Return the first input and output for which `wrong` is true."""
    values = f.case.x.values, f.value.values
    return {
        key: f"{v[wrong][0].item():.9g}" for key, v in zip(("given", "found"), values, strict=True)
    }


def wrong_numbers(f):
    return f.value.values != f.right


returns = ("not-a-tensor", lambda value, case: is_tensor(value))
side_effects = {
    "not-a-tensor": lambda f: f.value.shape != f.case.x.shape and {"what": describe(f.value)},
    "input-changed": STANDARD["input-changed"],
    "not-finite": lambda f: (
        (wrong := ~f.value.values.isfinite()).any() and describe_first(f, wrong)
    ),
}
wrong_outcomes = {"always-seven": lambda case: rounded(case, 7)}
mistakes = {
    "sign-lost": lambda f: ((f.value.values.abs() == f.right.abs()) & wrong_numbers(f)).any(),
    "truncated": lambda f: (
        torch.equal(f.value.values, rounded(f.case, f.case.mantissa, torch.trunc))
        and describe_first(f, wrong_numbers(f))
    ),
    "wrong-tie": lambda f: not wrong_numbers(f)[20:].any() and describe_first(f, wrong_numbers(f)),
    "not-nearest": lambda f: describe_first(f, wrong_numbers(f)),
}
hints = """
not-a-tensor: `keep_bits` returns {what}, but it should return a tensor of shape {shape}.
    -> The result has one number per element of `x`.
result-elsewhere: `x` is on {given}, but the result is on {found}.
    -> All the operations you need work on any device.
dtype-changed: The result has the dtype {found}, but it should be float32, with fewer digits.
    -> `view(torch.int32)` reads the bits as an integer. What reads them as a float again?
not-finite: {given} becomes infinite or nan.
    -> The range stays that of float32. Do you convert to a format with fewer exponent bits?
sign-lost: The digits are right, but some signs are not.
    -> Where does your code drop or flip the sign of a negative number?
truncated: With {mantissa} bits, {given} becomes {found}: you cut off the bits, and there is a
    nearer number.
    -> What can you add before you cut off the bits, so that the result is rounded?
wrong-tie: With {mantissa} bits, {given} becomes {found}. The input is halfway between two
    neighbors; this one's last bit is 1.
    -> All other numbers are right. In a tie, choose the neighbor whose last kept bit is 0.
always-seven: With 7 bits all numbers are right, but with {mantissa} bits you still keep 7.
    -> Does your code use the argument `mantissa`?
not-nearest: With {mantissa} bits, {given} becomes {found}, which is not the nearest number.
    -> float32 has 23 mantissa bits. How many do you drop, and does the size of `x` change that?
"""
