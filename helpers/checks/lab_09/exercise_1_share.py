"""Lab 09, exercise 1: the indices of one process."""

from helpers.checks.exercise import otherwise
from helpers.checks.plain import is_int

answers = "share(order, rank, world_size)"
points = 2
success = "Every process gets the same number of examples."
section = "Which process gets which examples?"


def cases(draw):
    world = draw.randint(3, 5)
    full = draw.randint(3, 6) * world
    for n, size in ((full, world), (full + draw.randint(1, world - 1), world), (2, 5), (1, 3)):
        order = draw.sample(range(100), n)
        for rank in range(size):
            yield {"order": order, "rank": rank, "world_size": size, "size": size} | {
                "count": -(-n // size)
            }


def padded(case):
    return (case.order * case.size)[: case.count * case.size]


def right(case):
    return padded(case)[case.rank :: case.size]


def block(case):
    return padded(case)[case.rank * case.count : (case.rank + 1) * case.count]


returns = ("not-a-list", lambda value, case: isinstance(value, list) and all(map(is_int, value)))
wrong_outcomes = {"contiguous-block": block}
mistakes = {
    "too-many": lambda f: len(f.value) > f.case.count,
    "too-few": lambda f: len(f.value) < f.case.count,
    "padded-wrongly": lambda f: (
        f.value[:-1] == f.right[:-1] and len(padded(f.case)) > len(f.case.order)
    ),
    "different-examples": otherwise,
}
hints = """
not-a-list: `share` returns {found}, but it should return a list of indices.
    -> Return the entries of `order`, plain integers, in a list.
input-changed: After the call, the caller's list `order` has changed.
    -> `+=`, `append` and `extend` change the list itself. Which operations make a new one?
contiguous-block: Of {order}, process {rank} of {size} gets {found}, which are neighbors in `order`.
    -> The processes take turns: what step takes you from one position to the next?
too-many: Of {order}, process {rank} of {size} gets {found}; {count} of them are enough.
    -> What is the smallest number of indices per process that leaves no entry of `order` out?
too-few: Of {order}, process {rank} of {size} gets {found}, but every process should get {count}.
    -> The length of `order` may not be a multiple of the number of processes. Where do the missing
    entries come from, even if `order` is very short?
padded-wrongly: Of {order}, process {rank} of {size} gets {found}. The last one is not the entry
    that continues `order`.
    -> Continue `order` with its own entries from the beginning. Which of them does this process
    get?
different-examples: Of {order}, process {rank} of {size} gets {found}.
    -> Write down the positions that this process takes: the first, the second, the third. What is
    at these positions?
"""
