"""Lab 09, exercise 5: the actions of one process in an epoch."""

import re
from itertools import zip_longest

from helpers.checks.plain import first

answers = "epoch(rank, batches, do)"
points = 3
success = "No process hangs, and nothing is done twice."
section = "Deadlocks and uneven batches"
# The actions of a process are recorded as a string of these letters.
ACTIONS = {"t": "train", "g": "all_reduce gradients", "e": "evaluate"}
ACTIONS |= {"c": "all_reduce counts", "s": "save", "b": "barrier"}


def cases(draw):
    low, high = draw.randint(1, 3), draw.randint(4, 6)
    many = [high, high], [low, high], [high, low, low], [low, low, high, low], [0, low]
    yield from ({"batches": batches} for batches in many)


def collect(call, case, epoch):
    letters = {action: letter for letter, action in ACTIONS.items()}
    done = [[] for _ in case.batches]
    for rank, to in enumerate(done):
        facts = call(epoch, rank, [*case.batches], lambda action, to=to: to.append(letters[action]))
    return facts.add(done=["".join(actions) for actions in done])


def find_deadlock(f):
    """Return the first collective operation that the processes do not call together."""
    for calls in zip_longest(*(re.sub("[tes]", "", letters) for letters in f.done)):
        what = first(calls)
        for other, letter in enumerate(calls):
            if letter != what:
                return {"waiting": calls.index(what), "what": ACTIONS[what], "other": other}
    return None


def find_miscount(f, pattern, counts):
    """Return the first process whose actions match a pattern another number of times."""
    found = [len(re.findall(pattern, letters)) for letters in f.done]
    return first(
        found[rank] != exact and {"rank": rank, "found": found[rank], "exact": exact}
        for rank, exact in enumerate(counts[: len(found)])
    )


side_effects = {
    "deadlock": find_deadlock,
    "batches-lost": lambda f: find_miscount(f, "t", f.case.batches),
    "gradients-miscounted": lambda f: find_miscount(f, "g", [max(f.case.batches)]),
    "not-after-each-batch": lambda f: find_miscount(f, "t[sb]*[tec]", [0, 0, 0]),
    "counts-too-early": lambda f: find_miscount(f, "^[tgsb]*e[sb]*c[sb]*$", [1, 1, 1]),
    "saved-by-all": lambda f: find_miscount(f, "s", [1, 0, 0]),
    # An all-reduce after saving is wrong too: rank 0 then lacks the last step of the others.
    "saved-too-early": lambda f: re.search("s.*[tg]", f.done[0]),
    # Every collective operation waits for rank 0, not only the barrier.
    "not-waited-for-the-file": lambda f: not re.search("s.*[gcb]", f.done[0]),
}
hints = """
deadlock: With batches {batches}, process {waiting} waits forever in `{what}`: process {other} never
    calls it.
    -> Write both processes' collective operations side by side. What lets one skip this line?
batches-lost: With batches {batches}, process {rank} trains on {found} batches instead of {exact}.
    -> Every batch must be used. What can a process without batches still do?
gradients-miscounted: With batches {batches}, process {rank} calls the all-reduce of the gradients
    {found} times; {exact} are needed.
    -> How many steps does the process with the most batches take?
not-after-each-batch: Process {rank} does not all-reduce the gradients right after each batch.
    -> The optimizer needs the averaged gradients of this batch before the next one starts.
counts-too-early: Process {rank} does not keep this order: train, evaluate, all-reduce the counts.
    -> What does the all-reduce of the counts need from each process?
saved-by-all: Process {rank} saves {found} times.
    -> All processes have the same weights, and there is one file. Who writes it, and how often?
saved-too-early: Rank 0 saves before the last step of this epoch.
    -> Others may have more batches. How long do their all-reduces change rank 0's weights?
not-waited-for-the-file: A process can leave the epoch before rank 0 has written the file.
    -> Which operation makes all processes wait, and is it before or after the line that saves?
"""
