"""Lab 01, exercise 1: a new list with every tensor on a device."""

import torch

from helpers.checks.plain import PlainTensor, first, is_list, is_tensor

answers = "move_all(tensors, device)"
points = 2
success = "Every tensor is on the right device, and none was copied needlessly."
section = "Moving a tensor"

DTYPES = (torch.float32, torch.float16, torch.int64, torch.float64)


def cases(draw):
    for device in [*map(torch.device, draw.devices), draw.device]:
        for count in (draw.randint(2, 5), 0):
            tensors = [
                draw.normal(3, i + 1, device=draw.devices[i % 2 - 1], dtype=DTYPES[i % 4])
                for i in range(count)
            ]
            yield {"tensors": tensors, "device": device, "wanted": str(device), "count": count}


def right(case):
    return [PlainTensor(tensor.values, case.wanted) for tensor in case.tensors]


def each(f, row):
    return first(row(old, new) for old, new in zip(f.case.tensors, f.value, strict=True))


questions = ["input-changed"]
returns = ("not-a-list", lambda value, case: is_list(value, case.count, is_tensor))
mistakes = {
    "result-dropped": lambda f: each(
        f, lambda old, new: new.device != f.case.wanted and {"found": new.device}
    ),
    "dtype-changed": lambda f: each(
        f, lambda old, new: old.dtype != new.dtype and {"before": old.dtype, "after": new.dtype}
    ),
    "wrong-numbers": True,
}
costs = {
    "needless-copy": lambda f: each(
        f, lambda old, new: old.device == f.case.wanted and not new.is_argument
    )
}
hints = """
not-a-list: `move_all` returns {what}, but it should return a list of {count} tensors.
    -> Collect one tensor for each tensor in the input, in the same order, and return the list.
result-dropped: You asked for {wanted}, but a tensor that `move_all` returns is on {found}.
    -> Do you move to `device`? `.to` does not change the tensor it is called on: where does your
    function keep what it returns?
wrong-numbers: The returned tensors do not have the same numbers as the input, in the same order.
    -> Compare the first and the last returned tensor with the first and the last input.
dtype-changed: A {before} tensor comes back as {after}.
    -> A move changes only where numbers are. What in your line names a dtype or creates them again?
needless-copy: A tensor that was already on {device} was copied.
    -> Moving a tensor to its own device costs nothing. What in your line forces a new tensor?
"""
