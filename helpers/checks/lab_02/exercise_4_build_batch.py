"""Lab 02, exercise 4: `build_batch`."""

import torch
from torch import Tensor

from helpers.checks.comparing import close, equal_values
from helpers.checks.descriptions import describe
from helpers.checks.lab_02.shared import lab
from helpers.checks.trial import Answer, Trial


@lab.exercise(4, points=2, success_message="Only the rows that are needed move; the table stays.")
def exercise_4(trial: Trial, build_batch: Answer) -> None:
    """`build_batch(table, rows, extra)`: rows of a large table, followed by extra rows."""
    for device in trial.devices:
        columns = trial.random.randint(3, 6)
        table = trial.normal(trial.random.randint(800, 999), columns)
        indices = sorted(trial.random.sample(range(len(table)), trial.random.randint(3, 5)))
        # Not sorted, and with a duplicate.
        rows = torch.tensor([*indices[1:], indices[0], indices[1]])
        extra = trial.normal(trial.random.randint(1, 4), columns)
        expected = torch.cat([table[rows], extra])
        arguments = table, rows, extra
        copies = [table.clone(), rows.to(device), extra.to(device)]
        with trial.watch() as watch:
            result = trial.result_of(build_batch, *copies)
        right_shape = isinstance(result, Tensor) and result.shape == expected.shape
        trial.expect(
            right_shape, "not-a-batch", found=describe(result), shape=tuple(expected.shape)
        )
        result_device = result.device
        trial.expect(result_device == device, "batch-elsewhere", given=device, found=result_device)
        trial.expect(all(map(equal_values, copies, arguments)), "input-changed", name="build_batch")
        trial.expect(close(result, expected), "wrong-rows")
        needed_bytes = table[rows].nbytes
        largest_move = max([move.bytes for move in watch.moves], default=0)
        details = {"rows": len(rows), "bytes": largest_move, "few": needed_bytes, "device": device}
        trial.expect(largest_move < table.nbytes, "table-moved", **details)
        bytes_moved_away = [move.bytes for move in watch.moves if move.source == device]
        index_bytes = rows.nbytes if device.type != "cpu" else 0
        trial.expect(sum(bytes_moved_away) <= index_bytes, "detour", device=device)
