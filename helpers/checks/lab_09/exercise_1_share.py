"""Lab 09, exercise 1: `share`."""

from helpers.checks.lab_09.shared import lab
from helpers.checks.trial import Answer, Trial, describe, is_int


@lab.exercise(1, points=2, right="Every process gets the same number of examples.")
def exercise_1(trial: Trial, share: Answer) -> None:
    """`share(order, rank, world_size)`: the indices of one process."""
    draw = trial.random.randint
    world = draw(3, 5)
    full = draw(3, 6) * world
    for count, size in ((full, world), (full + draw(1, world - 1), world), (2, 5), (1, 3)):
        order = trial.random.sample(range(100), count)
        before = list(order)
        each = -(-count // size)
        longer = (before * size)[: each * size]
        for rank in range(size):
            mine = trial.result_of(share, order, rank, size)
            whole = isinstance(mine, list) and all(map(is_int, mine))
            trial.expect(whole, "not-a-list", found=describe(mine))
            trial.expect(order == before, "order-changed")
            exact = longer[rank::size]
            details = {"order": before, "rank": rank, "size": size, "found": mine, "count": each}
            if mine == exact:
                continue
            trial.expect(sorted(mine) != sorted(exact), "other-sequence", **details)
            positions = exact == [before[i] for i in range(rank, count, size)]
            in_blocks = mine == longer[rank * each : (rank + 1) * each]
            trial.expect(not in_blocks, "a-block", **details)
            trial.expect(len(mine) <= each, "too-many", **details)
            trial.expect(len(mine) == each, "too-few", **details)
            trial.expect(positions or mine[:-1] != exact[:-1], "padded-wrongly", **details)
            raise trial.wrong("other-examples", **details)
