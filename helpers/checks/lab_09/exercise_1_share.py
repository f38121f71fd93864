"""Lab 09, exercise 1: `share`."""

from helpers.checks.descriptions import describe, is_int
from helpers.checks.lab_09.shared import lab
from helpers.checks.trial import Answer, Trial


@lab.exercise(1, points=2, success_message="Every process gets the same number of examples.")
def exercise_1(trial: Trial, share: Answer) -> None:
    """`share(order, rank, world_size)`: the indices of one process."""
    draw = trial.random.randint
    world = draw(3, 5)
    full = draw(3, 6) * world
    for count, size in ((full, world), (full + draw(1, world - 1), world), (2, 5), (1, 3)):
        order = trial.random.sample(range(100), count)
        before = list(order)
        share_size = -(-count // size)
        padded = (before * size)[: share_size * size]
        for rank in range(size):
            result = trial.result_of(share, order, rank, size)
            is_list = isinstance(result, list) and all(map(is_int, result))
            trial.expect(is_list, "not-a-list", found=describe(result))
            trial.expect(order == before, "order-changed")
            exact = padded[rank::size]
            details = {
                "order": before,
                "rank": rank,
                "size": size,
                "found": result,
                "count": share_size,
            }
            if result == exact:
                continue
            trial.expect(sorted(result) != sorted(exact), "different-sequence", **details)
            needs_no_padding = exact == [before[i] for i in range(rank, count, size)]
            in_blocks = result == padded[rank * share_size : (rank + 1) * share_size]
            trial.expect(not in_blocks, "contiguous-block", **details)
            trial.expect(len(result) <= share_size, "too-many", **details)
            trial.expect(len(result) == share_size, "too-few", **details)
            trial.expect(needs_no_padding or result[:-1] != exact[:-1], "padded-wrongly", **details)
            raise trial.wrong("different-examples", **details)
