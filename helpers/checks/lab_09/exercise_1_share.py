"""Lab 09, exercise 1: the indices of one process."""

from unittest import mock

from torch.utils.data import DistributedSampler

from helpers.checks.collecting import call_once

answers = "share(order, rank, world_size)"
points = 2
success = "Every process gets the same number of examples."
section = "Which process gets which examples?"


def cases(draw):
    world = draw.randint(3, 5)
    full = draw.randint(3, 6) * world
    for n, size in ((full, world), (full + draw.randint(1, world - 1), world), (2, 5), (1, 3)):
        order = draw.sample(range(100), n)
        case = {"order": order, "world_size": size, "size": size, "count": -(-n // size)}
        yield from (case | {"rank": rank} for rank in range(size))


def collect(call, case, share):
    with mock.patch.object(DistributedSampler, "__iter__", side_effect=TypeError("in share")):
        return call_once(("order", "rank", "world_size"), call, case, share)


def padded(case):
    return (case.order * case.size)[: case.count * case.size]


def right(case):
    return padded(case)[case.rank :: case.size]


errors = {"uses-the-sampler": lambda f: "in share" in f.error.values["error"]}
questions = ["input-changed"]
returns = ("not-a-list", lambda value, case: type(value) is list and {*map(type, value)} <= {int})
wrong_outcomes = {
    "contiguous-block": lambda case: padded(case)[case.rank * case.count :][: case.count]
}
mistakes = {"too-few": lambda f: len(f.value) < f.case.count, "different-examples": True}
hints = """
uses-the-sampler: `share` uses PyTorch's `DistributedSampler`.
    -> This exercise asks you to write what it does. Which positions does a process take?
not-a-list: `share` returns {found}, but it should return a list of indices.
    -> Return the entries of `order`, plain integers, in a list.
contiguous-block: Of {order}, process {rank} of {size} gets {found}, which are neighbors in `order`.
    -> The processes take turns: what step takes you from one position to the next?
too-few: Of {order}, process {rank} of {size} gets {found}, but every process should get {count}.
    -> The length of `order` may not be a multiple of the number of processes. Where do the missing
    entries come from, even if `order` is very short?
different-examples: Of {order}, process {rank} of {size} gets {found}.
    -> Write down the first three positions that this process takes. What is at these positions?
"""
