"""Lab 02, exercise 4: rows of a large table, followed by extra rows."""

import torch

from helpers.checks.exercise import STANDARD, otherwise
from helpers.checks.plain import PlainTensor, is_tensor

answers = "build_batch(table, rows, extra)"
points = 2
success = "Only the rows that are needed move; the table stays."
section = "Joining and indexing"
tolerance = 1e-2


def cases(draw):
    for device in draw.devices:
        columns = draw.randint(3, 6)
        table = draw.normal(draw.randint(800, 999), columns)
        indices = sorted(draw.sample(range(800), draw.randint(3, 5)), reverse=True)
        rows = PlainTensor(torch.tensor([*indices, indices[1]]), device)
        extra = draw.normal(draw.randint(1, 4), columns, device=device)
        case = {"table": table, "rows": rows, "extra": extra, "device": device}
        shape = (len(rows.values) + len(extra.values), columns)
        yield case | {"shape": shape, "bytes": table.values.nbytes}


def right(case):
    return torch.cat([case.table.values[case.rows.values], case.extra.values])


def describe_rows(f):
    return {"rows": (n := len(f.case.rows.values)), "few": 4 * n * f.case.shape[1]}


returns = ("not-a-batch", lambda value, case: is_tensor(value) and value.shape == case.shape)
side_effects = {"input-changed": STANDARD["input-changed"]}
mistakes = {"wrong-rows": otherwise}
costs = {
    "table-moved": lambda f: any(c.bytes >= f.case.bytes for c in f.copies) and describe_rows(f),
    "detour": lambda f: (
        sum(c.bytes for c in f.copies if c.source == f.case.device) > f.case.rows.values.nbytes
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
