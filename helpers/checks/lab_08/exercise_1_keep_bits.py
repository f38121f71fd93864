"""Lab 08, exercise 1: round numbers to the nearest ones with fewer mantissa bits."""

import torch

from helpers.checks.exercise import Case
from helpers.checks.plain import PlainTensor, first, is_tensor

answers = "keep_bits(x, mantissa)"
points = 3
success = "You can round a number to a mantissa of any length."
section = "Numbers in 32, 16 and 8 bits"
TIES = 20


def cases(draw):
    for device in draw.devices:
        for mantissa in (1, draw.randint(2, 8), draw.randint(9, 20)):
            steps = draw.integers(0, 2**mantissa, (TIES,)).values.double()
            signs = 2.0 * draw.integers(0, 2, (TIES,)).values - 1
            ties = (signs * (1 + (steps + 0.5) / 2**mantissa)).float()
            others = draw.normal(200).values * 2.0 ** draw.integers(-30, 30, (200,)).values
            x = torch.cat([ties, others, torch.tensor([0.0, 1.0, -1.0, 1.99999, 1e38, -1e-6])])
            case = {"x": PlainTensor(x, device), "shape": tuple(x.shape)}
            yield {**case, "mantissa": mantissa, "device": device}


def right(case, function=torch.round):  # which rounds half to even
    digits, exponent = torch.frexp(case.x.values.double())
    size = 2.0 ** (case.mantissa + 1)
    return torch.ldexp(function(digits * size) / size, exponent).float()


def wrong(f):
    index = (f.value.values != f.right).nonzero()[0].item()
    return {"given": f"{f.case.x.values[index]:.9g}", "found": f"{f.value.values[index]:.9g}"}


returns = ("not-a-tensor", lambda value, case: is_tensor(value) and value.shape == case.shape)
questions = ["result-elsewhere", "dtype-changed", "input-changed"]
mistakes = {
    "wrong-count": lambda f: first(
        torch.equal(f.value.values, right(Case(f.case, mantissa=n))) and {**wrong(f), "kept": n}
        for n in (f.case.mantissa - 1, f.case.mantissa + 1)
    ),
    "bits-left": lambda f: (
        (f.value.values.view(torch.int32) % 2 ** (23 - f.case.mantissa)).any() and wrong(f)
    ),
    "truncated": lambda f: torch.equal(f.value.values, right(f.case, torch.trunc)) and wrong(f),
    "wrong-tie": lambda f: torch.equal(f.value.values[TIES:], f.right[TIES:]) and wrong(f),
    "not-nearest": wrong,
}
hints = """
not-a-tensor: `keep_bits` returns {what}, but it should return a tensor of shape {shape}.
    -> The result has one number per element of `x`.
dtype-changed: The result has the dtype {after}, but it should be float32, with fewer digits.
    -> `view(torch.int32)` reads the bits as an integer. What reads them as a float again?
truncated: With {mantissa} bits, {given} becomes {found}: you cut off bits, but do not round.
    -> What can you add before you cut off the bits, so that the result is rounded?
wrong-tie: With {mantissa} bits, {given} becomes {found}. The input is halfway between two
    neighbors, and the last kept bit of your result is 1.
    -> All other numbers are right. In a tie, choose the neighbor whose last kept bit is 0.
wrong-count: With {mantissa} bits, {given} becomes {found}: you keep {kept} mantissa bits.
    -> A float32 number has 23 mantissa bits. How many do you drop?
bits-left: With {mantissa} bits, {given} becomes {found}, which has more mantissa bits.
    -> A shift to the right drops bits. Does your code do this, and move the others back?
not-nearest: With {mantissa} bits, {given} becomes {found}, which is not the nearest number.
    -> What do you add before you drop bits: is it half of the last bit that is kept?
"""
