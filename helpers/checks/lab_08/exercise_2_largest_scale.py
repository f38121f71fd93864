"""Lab 08, exercise 2: the largest power of 2 that keeps all gradients finite in fp16."""

import math

import torch

from helpers.checks.exercise import STANDARD
from helpers.checks.plain import PlainTensor, is_number

answers = "largest_scale(gradients)"
points = 2
success = "This scale uses the range of fp16 and does not overflow."
section = "Gradients that vanish"

LIMIT = 2.0**24


def cases(draw):
    for device in draw.devices:
        lists = [[torch.zeros(3), torch.zeros(2, 2)]]
        # The norm of the first tensor, or the sum of its values, would not fit.
        lists += [[torch.tensor([20.0, 65504 / 2**10]), torch.tensor([-1e-4])]]
        for powers in ((-4, -9, -7), (-9, -7, -1), (1, -5, -2)):
            lists.append([draw.normal(3, 4).values * 2.0 ** (power - 8) for power in powers])
            for gradient, power in zip(lists[-1], powers, strict=True):
                # Negative, so that a maximum without abs() gives a different number.
                gradient[1, 2] = -(1 + draw.random() / 2) * 2.0**power
        for gradients in lists:
            largest = f"{max(gradient.abs().max().item() for gradient in gradients):g}"
            yield {"gradients": [PlainTensor(g, device) for g in gradients], "largest": largest}


def fits(case, scale):
    return all((g.values.double() * scale).half().isfinite().all() for g in case.gradients)


def right(case):
    scale = LIMIT
    while not fits(case, scale):
        scale /= 2
    return scale


def texts(f):
    found = f"{f.value:,.0f}" if f.value >= 1 else f"{f.value:g}"
    return {"found": found, "product": f"{float(f.case.largest) * f.value:,.0f}"}


returns = ("not-a-number", lambda value, case: is_number(value))
side_effects = {"input-changed": STANDARD["input-changed"]}
wrong_outcomes = {"exponent": lambda case: math.log2(right(case))}
mistakes = {
    "above-limit": lambda f: f.value > LIMIT,
    "not-a-power": lambda f: f.value <= 0 or math.frexp(f.value)[0] != 0.5,
    "overflows": lambda f: not fits(f.case, f.value) and texts(f),
    "too-small": texts,
}
hints = """
exponent: You return {found}, which is the exponent. The scale is 2 to that power.
    -> Return the number that the loss is multiplied by.
above-limit: You return {found}, but the scale must not be larger than 2^24.
    -> What does your function do if all gradients are 0, or very small?
not-a-power: You return {found}, which is not a power of 2.
    -> Scaling by a power of 2 changes only the exponent. Which power of 2 is the next one below?
overflows: You return {found}. The largest gradient, {largest} in size, times this scale is
    {product}: too large for fp16.
    -> Do you check every tensor, and the absolute value of negatives? What is fp16's maximum?
too-small: You return {found}. The largest gradient, of size {largest}, would still fit with a
    larger scale.
    -> Try the next power of 2 with `.half()`: is any value infinite?
"""
