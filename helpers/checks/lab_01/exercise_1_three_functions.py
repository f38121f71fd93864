"""Lab 01, exercise 1: move tensors, create one where it is needed, and convert one to NumPy."""

import numpy as np
import torch

from helpers.checks.collecting import call_once
from helpers.checks.exercise import STANDARD, STANDARD_COSTS
from helpers.checks.plain import PlainTensor, first, is_equal, is_list, is_tensor, plain

answers = "move_all(tensors, device), add_ramp(X), to_numpy(X)"
points = 3
success = "Tensors are moved, created and converted, and none is copied needlessly."
section = "Moving a tensor"
# Half precision rounds numbers near 10 to steps of 0.008.
tolerance = 0.02
DTYPES = (torch.float32, torch.float16, torch.int64, torch.float64)
MOVE, RAMP, CONVERT = range(3)


def cases(draw):
    for device in [*map(torch.device, draw.devices), draw.device]:
        for count in (draw.randint(2, 5), 0):
            tensors = [
                draw.normal(3, i + 1, device=draw.devices[i % 2 - 1], dtype=DTYPES[i % 4])
                for i in range(count)
            ]
            yield {"tensors": tensors, "device": device, "count": count, "index": MOVE}
    for device, dtype in zip(draw.devices, (torch.float64, *DTYPES[1::-1]), strict=False):
        rows = draw.randint(2, 6)
        for shape in ((rows, rows + draw.randint(1, 5)), (rows, rows), (rows + 3, 1)):
            X = draw.normal(*shape, device=device, dtype=dtype)
            yield {"X": X, "device": device, "shape": shape, "index": RAMP}
    for device in draw.devices:
        for requires_grad in (False, True):
            X = draw.normal(draw.randint(2, 5), 6, device=device, requires_grad=requires_grad)
            yield {"X": X, "index": CONVERT}
    yield {"X": draw.integers(-99, 99, (5,), draw.device, torch.int16), "index": CONVERT}


def collect(call, case, *functions):
    function = functions[case.index]
    if case.index != CONVERT:
        names = ["tensors", "device"] if case.index == MOVE else ["X"]
        return call_once(names, call, case, function)
    X = case.X.make()
    facts = call(function, X)
    facts.arguments = plain({"X": X})
    if isinstance(facts.result, np.ndarray):
        facts.result += 1
    return facts.add(after_write=X)


def right(case):
    if case.index == MOVE:
        return [PlainTensor(tensor.values, str(case.device)) for tensor in case.tensors]
    X = case.X.values
    ramp = torch.arange(X.shape[-1], dtype=X.dtype)
    return X + ramp if case.index == RAMP else PlainTensor(X, kind="array")


def is_kind(value, case):
    if case.index == MOVE:
        return is_list(value, case.count, is_tensor)
    return getattr(value, "kind", "") == ("tensor" if case.index == RAMP else "array")


def items(value):
    return value if isinstance(value, list) else [value]


def is_copy(old, new):
    return old.device == new.device and not new.is_argument


returns = ("wrong-type", is_kind)
side_effects = {
    "input-changed": lambda f: (
        STANDARD["input-changed"](f)
        or ("X" in f.case and f.arguments["X"].requires_grad != f.case.X.requires_grad)
    ),
    "result-elsewhere": lambda f: first(
        new.device != str(f.case.device) and {"given": f.case.device, "found": new.device}
        for new in items(f.value)
        if f.case.index != CONVERT
    ),
    "wrong-shape": lambda f: f.case.index == RAMP and STANDARD["wrong-shape"](f),
    "dtype-changed": lambda f: first(
        old.dtype != new.dtype and {"before": old.dtype, "after": new.dtype}
        for old, new in zip(items(f.right), items(f.value), strict=True)
    ),
}
mistakes = {"wrong-ramp": lambda f: f.case.index == RAMP, "wrong-numbers": True}
costs = {
    "needless-copy": lambda f: f.case.index == MOVE and any(map(is_copy, f.case.tensors, f.value)),
    "copied": lambda f: f.case.index == RAMP and STANDARD_COSTS["copied"](f),
    "shared-memory": lambda f: f.case.index == CONVERT and not is_equal(f.after_write, f.case.X),
}
hints = """
wrong-type: `{name}` returns {what}, which is not what the exercise asks for.
    -> One of the functions returns a list with a tensor for each given tensor, one a tensor, and
    one a NumPy array.
result-elsewhere: The result of `{name}` should be on {given}, but a tensor is on {found}.
    -> `.to` does not change the tensor it is called on: where does your function keep what it
    returns? And does a new tensor start on the device of X?
wrong-shape: For an X of shape {given}, `add_ramp` returns shape {found}.
    -> The result has the shape of X. Which entry of that shape is the number of columns?
dtype-changed: `{name}` gets {before} numbers and returns {after}.
    -> What in your line names a dtype or creates the numbers again? `X.dtype` is the dtype of X.
wrong-ramp: For an X of shape {shape}, the result is wrong: column 0 should not change, column 1
    should grow by 1, column 2 by 2.
    -> Print what you add to X. What is its first value, which way does it grow, how long is it?
    see: Where a tensor lives
wrong-numbers: The numbers that `{name}` returns are not those of its input, in the same order.
    -> Print the first and the last of what it gets and of what it returns.
needless-copy: A tensor that was already on {device} was copied.
    -> Moving a tensor to its own device costs nothing. What in your line forces a new tensor?
shared-memory: For a tensor on the CPU, writing to the array also changes the tensor.
    -> An array made from a CPU tensor uses its memory. Which call makes a copy, which does not?
"""
