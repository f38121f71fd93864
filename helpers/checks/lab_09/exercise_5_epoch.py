"""Lab 09, exercise 5: `epoch`."""

from helpers.checks.lab_09.shared import lab
from helpers.checks.trial import Answer, Trial

_COLLECTIVE = ("all_reduce gradients", "all_reduce counts", "barrier")
_ACTIONS = ("train", "evaluate", "save", *_COLLECTIVE)


@lab.exercise(5, points=3, right="No process hangs, and nothing is done twice.")
def exercise_5(trial: Trial, epoch: Answer) -> None:
    """`epoch(rank, batches, do)`: what one process does."""
    low, high = trial.random.randint(1, 3), trial.random.randint(4, 6)
    for batches in ([high, high], [low, high], [high, low, low], [0, low]):
        done = []
        for rank in range(len(batches)):
            actions: list[str] = []
            trial.call(epoch, rank, list(batches), trial.callback(actions.append))
            unknown = [action for action in actions if action not in _ACTIONS]
            trial.expect(not unknown, "unknown-action", found=repr(unknown[:1]))
            done.append(actions)
        _check_waiting(trial, batches, done)
        for check in (_check_training, _check_order):
            for rank, actions in enumerate(done):
                check(trial, rank, batches, actions)
        _check_saving(trial, done)


def _check_waiting(trial: Trial, batches: list[int], done: list[list[str]]) -> None:
    """Compare the collective operations of all processes one by one."""
    calls = [[each for each in actions if each in _COLLECTIVE] for actions in done]
    for turn in range(max(map(len, calls))):
        now = [mine[turn] if turn < len(mine) else None for mine in calls]
        if len(set(now)) == 1:
            continue
        waiting = next(rank for rank, each in enumerate(now) if each is not None)
        other = next(rank for rank, each in enumerate(now) if each != now[waiting])
        details = {"batches": batches, "waiting": waiting, "other": other, "what": now[waiting]}
        trial.expect(None not in now, "deadlock", **details)
        raise trial.wrong("another-order", **details, found=now[other])


def _check_training(trial: Trial, rank: int, batches: list[int], actions: list[str]) -> None:
    details = {"rank": rank, "batches": batches}
    trained = actions.count("train")
    count = {"found": trained, "exact": batches[rank]}
    trial.expect(trained >= batches[rank], "batches-lost", **details, **count)
    trial.expect(trained <= batches[rank], "too-much-training", **details, **count)


def _check_order(trial: Trial, rank: int, batches: list[int], actions: list[str]) -> None:
    details = {"rank": rank, "batches": batches}
    reduced = actions.count("all_reduce gradients")
    count = {"found": reduced, "exact": max(batches)}
    trial.expect(reduced == max(batches), "gradients-miscounted", **details, **count)
    mine = [each for each in actions if each in ("train", "all_reduce gradients")]
    after = [mine[i + 1 : i + 2] for i, each in enumerate(mine) if each == "train"]
    paired = all(each == ["all_reduce gradients"] for each in after)
    trial.expect(paired, "not-after-each-batch", **details)
    evaluated = actions.count("evaluate") == 1 == actions.count("all_reduce counts")
    trial.expect(evaluated, "not-evaluated", **details)
    trainings = [i for i, each in enumerate(actions) if each in mine]
    first, second = actions.index("evaluate"), actions.index("all_reduce counts")
    in_order = max(trainings) < first < second
    trial.expect(in_order, "counts-too-early", **details)


def _check_saving(trial: Trial, done: list[list[str]]) -> None:
    for rank, actions in enumerate(done):
        saved = actions.count("save")
        trial.expect(saved == (rank == 0), "saved-by-all", rank=rank, found=saved)
    after = done[0][done[0].index("save") :]
    # The all-reduce counts, too: without it, rank 0 does not have the other processes' last step.
    finished = "train" not in after and "all_reduce gradients" not in after
    trial.expect(finished, "saved-too-early")
    # Every collective operation waits for rank 0, not only the barrier.
    waited = any(each in _COLLECTIVE for each in after)
    trial.expect(waited, "not-waited-for-the-file")
