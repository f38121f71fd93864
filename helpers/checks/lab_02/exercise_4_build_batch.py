"""Lab 02, exercise 4: rows of a large table, followed by extra rows."""

import torch

from helpers.checks.plain import PlainTensor, is_tensor

answers = "build_batch(table, rows, extra)"
points = 2
success = "Only the rows that are needed move; the table stays."
section = "Joining and indexing"


def cases(draw):
    for device in draw.devices:
        columns, extras = draw.randint(3, 6), draw.randint(1, 4)
        indices = sorted(draw.sample(range(800), 4), reverse=True)
        rows = PlainTensor(torch.tensor([*indices, indices[1]]), device)
        table, extra = draw.normal(900, columns), draw.normal(extras, columns, device=device)
        case = {"table": table, "rows": rows, "extra": extra, "device": device}
        yield case | {"shape": (5 + extras, columns), "few": 4 * 5 * columns}


def right(case):
    return torch.cat([case.table.values[case.rows.values], case.extra.values])


def copied(f):
    return sum(copy.bytes for copy in f.copies if copy.target == f.case.device)


returns = ("not-a-batch", lambda value, case: is_tensor(value) and value.shape == case.shape)
questions = ["result-elsewhere", "input-changed"]
mistakes = {"wrong-rows": True}
costs = {"copies-more": lambda f: (n := copied(f)) > f.case.few and {"bytes": n, "rows": 5}}
hints = """
copies-more: Your function copies {bytes:,} bytes to {device}, but the {rows} rows take {few:,}.
    -> The index is small, the table is large. Which do you move, and when do you move the rows?
result-elsewhere: `extra` is on {given}, but the result of `build_batch` is on {found}.
    -> On which device should the result be, and which argument is already there?
not-a-batch: `build_batch` returns {found}, but it should return a tensor of shape {shape}.
    -> The extra rows come below the selected rows. Which dimension grows?
wrong-rows: The tensor that `build_batch` returns has the right shape but the wrong rows.
    -> First the rows of the table, in the order of `rows`, then the extra rows.
"""
