"""Lab 02, exercise 4: `build_batch`."""

import torch
from torch import Tensor

from helpers.checks.comparing import close, equal_values
from helpers.checks.lab_02.shared import lab
from helpers.checks.trial import Answer, Trial, describe


@lab.exercise(4, points=2, right="Only the rows that are needed move; the table stays.")
def exercise_4(trial: Trial, build_batch: Answer) -> None:
    """`build_batch(table, rows, extra)`: rows of a large table, followed by others."""
    for place in trial.devices:
        columns = trial.random.randint(3, 6)
        table = trial.normal(trial.random.randint(800, 999), columns)
        drawn = sorted(trial.random.sample(range(len(table)), trial.random.randint(3, 5)))
        # Not sorted, and with a duplicate.
        picked = torch.tensor([*drawn[1:], drawn[0], drawn[1]])
        extra = trial.normal(trial.random.randint(1, 4), columns)
        expected = torch.cat([table[picked], extra])
        given = table, picked, extra
        moved = [table.clone(), picked.to(place), extra.to(place)]
        with trial.watch() as watch:
            result = trial.result_of(build_batch, *moved)
        good = isinstance(result, Tensor) and result.shape == expected.shape
        trial.expect(good, "no-batch", found=describe(result), shape=tuple(expected.shape))
        found = result.device
        trial.expect(found == place, "batch-elsewhere", given=place, found=found)
        trial.expect(all(map(equal_values, moved, given)), "input-changed", name="build_batch")
        trial.expect(close(result, expected), "other-rows")
        few = table[picked].nbytes
        most = max([move.bytes for move in watch.moves], default=0)
        details = {"rows": len(picked), "bytes": most, "few": few, "device": place}
        trial.expect(most < table.nbytes, "table-moved", **details)
        away = [move.bytes for move in watch.moves if move.source == place]
        copied = picked.nbytes if place.type != "cpu" else 0
        trial.expect(sum(away) <= copied, "detour", device=place)
