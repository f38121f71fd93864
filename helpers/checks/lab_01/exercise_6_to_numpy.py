"""Lab 01, exercise 6: an array with its own memory, from a tensor on any device."""

import numpy as np
import torch

from helpers.checks.plain import PlainTensor, is_equal

answers = "to_numpy(X)"
points = 2
success = "Any tensor becomes an array with its own memory."
section = "Hidden waiting"


def cases(draw):
    for device in draw.devices:
        for requires_grad in (False, True):
            dtype, rows = draw.choice([torch.float32, torch.float64]), draw.randint(2, 5)
            shape = (rows, rows + draw.randint(1, 3))
            kind = {"device": device, "dtype": dtype, "requires_grad": requires_grad}
            yield {"X": draw.normal(*shape, **kind)}
    yield {"X": draw.integers(-99, 99, (draw.randint(2, 9),), draw.device, torch.int16)}


def collect(call, case, to_numpy):
    X = case.X.make()
    facts = call(to_numpy, X).add(after=X)
    if isinstance(facts.result, np.ndarray):
        facts.result += 1
    return facts.add(after_write=X)


def right(case):
    return PlainTensor(case.X.values, kind="array")


returns = ("not-an-array", lambda value, case: getattr(value, "kind", "") == "array")
side_effects = {
    "tensor-changed": lambda f: (
        (f.after.device, f.after.requires_grad) != (f.case.X.device, f.case.X.requires_grad)
    )
}
mistakes = {"wrong-numbers": True}
costs = {"shared-memory": lambda f: not is_equal(f.after_write, f.case.X)}
hints = """
not-an-array: `to_numpy` returns {what}, but it should return a NumPy array.
    -> A list or a tensor with the same numbers is not an array. Which method returns an array?
shared-memory: For a tensor on the CPU, writing to the array also changes the tensor.
    -> An array made from a CPU tensor uses its memory. Which call makes a copy, which does not?
    see: Moving a tensor
tensor-changed: The call changed the device or `requires_grad` of the caller's tensor.
    -> Methods ending in an underscore, and assignments to attributes, change the tensor itself.
    see: Moving a tensor
wrong-numbers: The array does not contain the same numbers as the tensor.
    -> Shape, dtype and numbers should all be those of the tensor.
"""
