"""Lab 09, exercise 5: `epoch`."""

from collections.abc import Callable

from helpers.checks.lab_09.shared import lab
from helpers.checks.trial import Answer, Trial

_COLLECTIVE = ("all_reduce gradients", "all_reduce counts", "barrier")
_ACTIONS = ("train", "evaluate", "save", *_COLLECTIVE)


@lab.exercise(5, points=3, success_message="No process hangs, and nothing is done twice.")
def exercise_5(trial: Trial, epoch: Answer) -> None:
    """`epoch(rank, batches, do)`: the actions of one process in an epoch."""
    low, high = trial.random.randint(1, 3), trial.random.randint(4, 6)
    for batches in ([high, high], [low, high], [high, low, low], [0, low]):
        done = []
        for rank in range(len(batches)):
            actions: list[str] = []
            trial.call(epoch, rank, list(batches), trial.callback(_make_do(actions)))
            unknown = [action for action in actions if action not in _ACTIONS]
            trial.expect(not unknown, "unknown-action", found=repr(unknown[:1]))
            done.append(actions)
        _check_waiting(trial, batches, done)
        for check in (_check_training, _check_order):
            for rank, actions in enumerate(done):
                check(trial, rank, batches, actions)
        _check_saving(trial, done)


def _make_do(actions: list[str]) -> Callable[[str], None]:
    def do(action: str) -> None:
        actions.append(action)

    return do


def _check_waiting(trial: Trial, batches: list[int], done: list[list[str]]) -> None:
    """Compare the collective operations of all processes one by one."""
    calls = [[action for action in actions if action in _COLLECTIVE] for actions in done]
    for position in range(max(map(len, calls))):
        current = [
            own_calls[position] if position < len(own_calls) else None for own_calls in calls
        ]
        if len(set(current)) == 1:
            continue
        waiting = next(rank for rank, action in enumerate(current) if action is not None)
        other = next(rank for rank, action in enumerate(current) if action != current[waiting])
        details = {"batches": batches, "waiting": waiting, "other": other, "what": current[waiting]}
        trial.expect(None not in current, "deadlock", **details)
        raise trial.wrong("different-order", **details, found=current[other])


def _check_training(trial: Trial, rank: int, batches: list[int], actions: list[str]) -> None:
    details = {"rank": rank, "batches": batches}
    num_trained = actions.count("train")
    count = {"found": num_trained, "exact": batches[rank]}
    trial.expect(num_trained >= batches[rank], "batches-lost", **details, **count)
    trial.expect(num_trained <= batches[rank], "too-much-training", **details, **count)


def _check_order(trial: Trial, rank: int, batches: list[int], actions: list[str]) -> None:
    details = {"rank": rank, "batches": batches}
    num_reductions = actions.count("all_reduce gradients")
    count = {"found": num_reductions, "exact": max(batches)}
    trial.expect(num_reductions == max(batches), "gradients-miscounted", **details, **count)
    training_actions = [action for action in actions if action in ("train", "all_reduce gradients")]
    next_actions = [
        training_actions[i + 1 : i + 2]
        for i, action in enumerate(training_actions)
        if action == "train"
    ]
    all_paired = all(action == ["all_reduce gradients"] for action in next_actions)
    trial.expect(all_paired, "not-after-each-batch", **details)
    evaluated_once = actions.count("evaluate") == 1 == actions.count("all_reduce counts")
    trial.expect(evaluated_once, "not-evaluated", **details)
    trainings = [i for i, action in enumerate(actions) if action in training_actions]
    first, second = actions.index("evaluate"), actions.index("all_reduce counts")
    counts_last = max(trainings) < first < second
    trial.expect(counts_last, "counts-too-early", **details)


def _check_saving(trial: Trial, done: list[list[str]]) -> None:
    for rank, actions in enumerate(done):
        num_saves = actions.count("save")
        trial.expect(num_saves == (rank == 0), "saved-by-all", rank=rank, found=num_saves)
    later_actions = done[0][done[0].index("save") :]
    # An all-reduce after saving is wrong too: rank 0 then lacks the last step of the others.
    training_done = "train" not in later_actions and "all_reduce gradients" not in later_actions
    trial.expect(training_done, "saved-too-early")
    # Every collective operation waits for rank 0, not only the barrier.
    others_wait = any(action in _COLLECTIVE for action in later_actions)
    trial.expect(others_wait, "not-waited-for-the-file")
