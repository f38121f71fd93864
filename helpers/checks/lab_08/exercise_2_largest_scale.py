"""Lab 08, exercise 2: the largest power of 2 that keeps all gradients finite in fp16."""

import math

import torch

from helpers.checks.plain import PlainTensor, is_number

answers = "largest_scale(gradients)"
points = 2
success = "This scale uses the range of fp16 and does not overflow."
section = "Gradients that vanish"


def cases(draw):
    for device in draw.devices:
        # The norm of the first tensor, or the sum of its values, would not fit.
        lists = [[torch.tensor([20.0, 65504 / 2**10]), torch.tensor([-1e-4])]]
        for powers in ((-4, -9, -7), (-9, -7, -1), (1, -5, -2)):
            lists.append([draw.normal(3, 4).values * 2.0 ** (power - 8) for power in powers])
            for gradient, power in zip(lists[-1], powers, strict=True):
                # Negative, so that a maximum without abs() gives a different number.
                gradient[1, 2] = -(1 + draw.random() / 2) * 2.0**power
        for gradients in (*lists, [torch.zeros(3), torch.zeros(2, 2)]):
            largest = float(f"{max(gradient.abs().max() for gradient in gradients):g}")
            yield {"gradients": [PlainTensor(g, device) for g in gradients], "largest": largest}


def overflows(case, scale):
    return case.largest * scale >= 65520  # which fp16 rounds to infinity


def right(case):
    return max(2.0**power for power in range(25) if not overflows(case, 2.0**power))


def texts(f):
    return {"found": f"{f.value:,.10g}", "product": f"{f.case.largest * f.value:,.0f}"}


returns = ("not-a-number", lambda value, case: is_number(value))
questions = ["input-changed"]
mistakes = {
    "above-limit": lambda f: f.value > 2**24 and texts(f),
    "not-a-power": lambda f: (f.value <= 0 or math.frexp(f.value)[0] != 0.5) and texts(f),
    "overflows": lambda f: overflows(f.case, f.value) and texts(f),
    "too-small": texts,
}
hints = """
above-limit: You return {found}, but the scale must not be larger than 2^24.
    -> What does your function do if all gradients are 0, or very small?
not-a-power: You return {found}, which is not a power of 2.
    -> Scaling by a power of 2 changes only the exponent. Which power of 2 is the next one below?
overflows: The largest gradient, {largest}, times {found} is {product}: too large for fp16.
    -> Do you check every tensor, and the absolute value of negatives? What is fp16's maximum?
too-small: You return {found}. The largest gradient, {largest}, would fit with a larger scale.
    -> Try the next power of 2 with `.half()`: is any value infinite?
"""
