"""Lab 02, exercise 4: rows of a large table, followed by extra rows."""

import torch

from helpers.checks.exercise import STANDARD, otherwise
from helpers.checks.plain import PlainTensor, describe, is_tensor

answers = "build_batch(table, rows, extra)"
points = 2
success = "Only the rows that are needed move; the table stays."
section = "Joining and indexing"
tolerance = 1e-2


def cases(draw):
    for device in draw.devices:
        columns = draw.randint(3, 6)
        table = draw.normal(draw.randint(800, 999), columns)
        indices = sorted(draw.sample(range(800), draw.randint(3, 5)))
        # Not sorted, and with a duplicate.
        rows = PlainTensor(torch.tensor([*indices[1:], indices[0], indices[1]]), device)
        extra = draw.normal(draw.randint(1, 4), columns, device=device)
        shape = (len(rows.values) + len(extra.values), columns)
        yield {"table": table, "rows": rows, "extra": extra, "device": device, "shape": shape}


def right(case):
    return torch.cat([case.table.values[case.rows.values], case.extra.values])


returns = ("not-a-batch", lambda value, case: is_tensor(value))
side_effects = {
    "input-changed": STANDARD["input-changed"],
    "not-a-batch": lambda f: f.value.shape != f.case.shape and {"found": describe(f.value)},
}
mistakes = {"wrong-rows": otherwise}
costs = {
    "table-moved": lambda f: (
        (largest := max([copy.bytes for copy in f.copies], default=0)) >= f.case.table.values.nbytes
        and {"bytes": largest, "rows": len(f.case.rows.values)}
        | {"few": f.case.table.values[f.case.rows.values].nbytes}
    ),
    "detour": lambda f: (
        sum(copy.bytes for copy in f.copies if copy.source == f.case.device)
        > (f.case.rows.values.nbytes if f.case.device != "cpu" else 0)
    ),
}
hints = """
table-moved: For {rows} rows, your function copies {bytes:,} bytes to {device}. The rows take
    {few:,} bytes.
    -> The line uses a small index and a large table. Which of the two do you move, and when do you
    move the rows?
detour: `extra` was already on {device}, where the result should be, but your function copies it
    elsewhere first.
    -> Move the other tensor to the device of the result before you concatenate.
result-elsewhere: `extra` is on {given}, but the result of `build_batch` is on {found}.
    -> On which device should the result be, and which argument is already there?
not-a-batch: `build_batch` returns {found}, but it should return a tensor of shape {shape}.
    -> The extra rows come below the selected rows. Which dimension grows?
wrong-rows: The tensor that `build_batch` returns has the right shape but other rows.
    -> First the rows of the table, in the order of `rows`, then the extra rows.
"""
