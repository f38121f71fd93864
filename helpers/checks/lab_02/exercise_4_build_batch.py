"""Lab 02, exercise 4: the check of `build_batch`, and its hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_02.shared import INPUT_CHANGED, close, lab, same_numbers

_JOINING = "Joining and indexing"

TABLE_MOVED = Hint(
    "table-moved",
    "For {rows} rows, your function carries {bytes:,} bytes to {device}. The rows take {few:,}.",
    "Two things meet in the square brackets, a large one and a small one. Which do you move, and "
    "when do the rows go over?",
    _JOINING,
)

DETOUR = Hint(
    "detour",
    "`extra` was on {device}, where the result is to be, and your function carries it away first.",
    "Bring what is elsewhere to the place of the result before you join.",
    _JOINING,
)

BATCH_ELSEWHERE = Hint(
    "batch-elsewhere",
    "`extra` is on {given}, and what `build_batch` returns is on {found}.",
    "Where should the result be, and which of the arguments knows that place?",
    _JOINING,
)

NOT_A_BATCH = Hint(
    "no-batch",
    "`build_batch` returns {found}; a tensor of shape {shape} is asked for.",
    "The picked rows and the extra ones lie below each other. Which dimension grows?",
    _JOINING,
)

OTHER_ROWS = Hint(
    "other-rows",
    "The tensor that `build_batch` returns has the right shape, and not the right rows.",
    "First the rows of the table, in the order of `rows`, then the extra ones.",
    _JOINING,
)


@lab.exercise(4, points=2, right="What was asked for goes over, and the table stays at home.")
def exercise_4(trial: Trial, build_batch: Callable[..., Any]) -> None:
    """`build_batch(table, rows, extra)`: rows of a large table, and others below them."""
    for place in trial.devices:
        columns = trial.random.randint(3, 6)
        table = trial.normal(trial.random.randint(800, 999), columns)
        drawn = sorted(trial.random.sample(range(len(table)), trial.random.randint(3, 5)))
        picked = torch.tensor(
            [*drawn[1:], drawn[0], drawn[1]]
        )  # in no order, and one of them twice
        extra = trial.normal(trial.random.randint(1, 4), columns)
        expected = torch.cat([table[picked], extra])
        given = table, picked, extra
        moved = [table.clone(), picked.to(place), extra.to(place)]
        with trial.watch() as watch:
            result = trial.call(build_batch, *moved)
        trial.expect_result(result)
        what, shape = f"a {type(result).__name__}", tuple(expected.shape)
        trial.expect(isinstance(result, Tensor), NOT_A_BATCH, found=what, shape=shape)
        what = f"the shape {tuple(result.shape)}"
        trial.expect(result.shape == expected.shape, NOT_A_BATCH, found=what, shape=shape)
        found = result.device
        trial.expect(found == place, BATCH_ELSEWHERE, given=place, found=found)
        trial.expect(all(map(same_numbers, moved, given)), INPUT_CHANGED, name="build_batch")
        trial.expect(close(result, expected), OTHER_ROWS)
        few = table[picked].nbytes
        most = max([move.bytes for move in watch.moves], default=0)
        told = {"rows": len(picked), "bytes": most, "few": few, "device": place}
        trial.expect(most < table.nbytes, TABLE_MOVED, **told)
        away = [move.bytes for move in watch.moves if move.source == place]
        carried = picked.nbytes if place.type != "cpu" else 0
        trial.expect(sum(away) <= carried, DETOUR, device=place)
