"""Lab 09, exercise 5: the actions of one process in an epoch."""

from helpers.checks.plain import first

answers = "epoch(rank, batches, do)"
points = 3
success = "No process hangs, and nothing is done twice."
section = "Deadlocks and uneven batches"

COLLECTIVE = ("all_reduce gradients", "all_reduce counts", "barrier")
STEP = ("train", "all_reduce gradients")


def cases(draw):
    low, high = draw.randint(1, 3), draw.randint(4, 6)
    yield from ({"batches": b} for b in ([high, high], [low, high], [high, low, low], [0, low]))


def collect(call, case, epoch):
    done = [[] for _ in case.batches]
    for rank, actions in enumerate(done):
        facts = call(epoch, rank, list(case.batches), lambda action, to=actions: to.append(action))
    return facts.add(done=done)


def waiting(f, *, forever):
    """Return the first collective operation that the processes do not call together."""
    calls = [[action for action in actions if action in COLLECTIVE] for actions in f.done]
    for position in range(max(map(len, calls))):
        current = [c[position] if position < len(c) else None for c in calls]
        if len({*current}) > 1:
            rank = next(i for i, action in enumerate(current) if action is not None)
            other = next(i for i, action in enumerate(current) if action != current[rank])
            values = {"waiting": rank, "other": other, "what": current[rank]}
            return (None in current) == forever and values | {"found": current[other]}
    return None


def each(f, is_wrong):
    """Return the values of the hint for the first process whose actions are wrong."""
    return first(
        is_wrong(actions, count) and {"rank": rank, "exact": count, "found": actions.count("train")}
        for rank, (actions, count) in enumerate(zip(f.done, f.case.batches, strict=True))
    )


def is_out_of_step(actions, count):
    steps = [action for action in actions if action in STEP]
    pairs = zip(steps, [*steps[1:], ""], strict=True)
    return any(a == "train" and b != STEP[1] for a, b in pairs)


def is_out_of_order(actions, count):
    """Return whether evaluation is not done once, after the steps and before its all-reduce."""
    rest = [action for action in actions if action not in ("save", "barrier")]
    return rest[-2:] != ["evaluate", "all_reduce counts"] or not {*rest[:-2]} <= {*STEP}


def after_saving(f):
    return f.done[0][f.done[0].index("save") :]


side_effects = {
    "unknown-action": lambda f: first(
        action not in (*STEP, *COLLECTIVE, "evaluate", "save") and {"found": repr([action])}
        for actions in f.done
        for action in actions
    ),
    "deadlock": lambda f: waiting(f, forever=True),
    "different-order": lambda f: waiting(f, forever=False),
    "batches-lost": lambda f: each(f, lambda actions, count: actions.count("train") < count),
    "too-much-training": lambda f: each(f, lambda actions, count: actions.count("train") > count),
    "gradients-miscounted": lambda f: (
        (found := f.done[0].count(STEP[1])) != max(f.case.batches)
        and {"rank": 0, "found": found, "exact": max(f.case.batches)}
    ),
    "not-after-each-batch": lambda f: each(f, is_out_of_step),
    "counts-too-early": lambda f: each(f, is_out_of_order),
    "saved-by-all": lambda f: first(
        actions.count("save") != (rank == 0) and {"rank": rank, "found": actions.count("save")}
        for rank, actions in enumerate(f.done)
    ),
    # An all-reduce after saving is wrong too: rank 0 then lacks the last step of the others.
    "saved-too-early": lambda f: {*STEP} & {*after_saving(f)},
    # Every collective operation waits for rank 0, not only the barrier.
    "not-waited-for-the-file": lambda f: not {*COLLECTIVE} & {*after_saving(f)},
}
hints = """
unknown-action: `do` is called with {found}, which is not an action in the table.
    -> Copy the names from the table.
deadlock: With batches {batches}, process {waiting} waits forever in `{what}`: process {other} never
    calls it.
    -> Write the collective operations of both processes side by side. Which condition or loop lets
    one of them skip this line?
different-order: With batches {batches}, process {waiting} calls `{what}` while process {other}
    calls `{found}`.
    -> All processes need the same order. Which of your loops runs longer in one of them?
batches-lost: With batches {batches}, process {rank} trains {found} times, but it has {exact}
    batches.
    -> Every batch must be used. What can a process without batches still do?
too-much-training: With batches {batches}, process {rank} trains {found} times, but it has {exact}
    batches.
    -> A process without batches takes part in the all-reduce and does not train.
gradients-miscounted: With batches {batches}, process {rank} calls the all-reduce of the gradients
    {found} times; {exact} are needed.
    -> How many steps does the process with the most batches take?
not-after-each-batch: With batches {batches}, process {rank} does not all-reduce the gradients right
    after each of its batches.
    -> The optimizer needs the averaged gradients of this batch before the next one starts.
counts-too-early: With batches {batches}, process {rank} does not train, evaluate and all-reduce the
    counts in this order.
    -> What does the all-reduce of the counts need from each process?
saved-by-all: Process {rank} saves {found} times.
    -> All processes have the same weights, and there is one file. Who writes it, and how often?
saved-too-early: Rank 0 saves before the last step of this epoch.
    -> Other processes may have more batches. How long do their all-reduces keep changing rank 0's
    weights?
not-waited-for-the-file: A process can leave the epoch before rank 0 has written the file.
    -> Which operation makes all processes wait, and is it before or after the line that saves?
"""
