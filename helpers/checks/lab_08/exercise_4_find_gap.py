"""Lab 08, exercise 4: how busy a GPU was, its longest gap, and the cause of that gap."""

from itertools import pairwise

from helpers.checks.plain import is_close, is_number

answers = "find_gap(kernels, operations)"
points = 3
success = "You can tell how busy a GPU was, and what it waited for."
section = "Profile a training step"
tolerance = 1e-6


def cases(draw):
    for role in (1, 0, 2):
        for kind, others in ("plain", 0), ("order", 0), ("overlap", 3), ("overlap", 2):
            yield make_trace(draw, kind, role, others)
    for kernels in [(9, 5), (12, 4), (16, 7)], []:
        yield {"kernels": kernels, "operations": [("aten::item", 3, 10)], "kind": "no-gap"}


def make_trace(draw, kind, role, others):
    """Return a trace whose longest gap has its cause at the start, in the middle or at the end."""
    gaps, kernels, time = draw.sample(range(5, 20), 4), [], 300
    gaps.insert(place := draw.randint(1, 3), draw.randint(40, 60))
    for gap in gaps:
        kernels.append((time, draw.randint(3, 9)))
        time += kernels[-1][1] + gap
    # In another stream, a long kernel runs between short ones, and may end last.
    kernels += [(time, 200), (time + 20, 10), (time + 25, 8), (time + 150, 80)][: 1 + others]
    start, length = sum(kernels[place]), gaps[place]
    before, after = (150, 2) if role else (2, 150)
    a, b = [(length - 21, 9), (9, length - 21), (12, 9)][role]
    times = [start + x for x in (-before - 60, -before - 20, -before, a, a + b, length + after)]
    names = ["torch.save", *draw.sample(["DataLoader", "aten::item", "aten::to", "aten::add"], 4)]
    operations = [(n, s, e - s) for n, (s, e) in zip(names, pairwise(times), strict=True)]
    if kind != "plain":
        kernels, operations = (x[place + 1 :] + x[: place + 1] for x in (kernels, operations))
    return {"kernels": kernels, "operations": operations, "kind": kind}


def right(case):
    busy = sorted({t for start, length in case.kernels for t in range(start, start + length)})
    if not busy:
        return 0, 0, None
    length, start = max((b - a - 1, a + 1) for a, b in pairwise(busy))
    gap = {*range(start, start + length)}
    within = {None: 0} | {n: len(gap & {*range(s, s + d)}) for n, s, d in case.operations}
    return len(busy) / (busy[-1] + 1 - busy[0]), length, max(within, key=within.get)


def kernels_wrong(f):
    found, exact = ("({:.7g}, {:g})".format(*value) for value in (f.value, f.right))
    return not is_close(f.value[:2], f.right[:2], tolerance, 0) and {"is": found, "exact": exact}


returns = (
    "not-three-values",
    lambda x, case: (
        isinstance(x, tuple | list)
        and [isinstance(v, str | None) or 2 * is_number(v) for v in x] == [2, 2, True]
    ),
)
questions = ["input-changed"]
errors = {"no-gap": lambda f: f.case.kind == "no-gap"}
mistakes = errors | {
    "plain": lambda f: f.case.kind == "plain" and kernels_wrong(f),
    "order": lambda f: f.case.kind == "order" and kernels_wrong(f),
    "overlap": kernels_wrong,
    "longest-operation": lambda f: f.value[2] == max((n, x) for x, _, n in f.case.operations)[1],
    "wrong-cause": lambda f: {"gap": f.right[1]},
}
hints = """
not-three-values: `find_gap` returns {what}, but it should return a fraction, a length and a name.
    -> Return three values, separated by commas: two numbers and one of the names.
plain: The kernels run one after another. Fraction and gap are {exact}, but you return {is}.
    -> A pair is the start and the *duration* of a kernel. Work through a list of two kernels by
    hand.
order: If the kernels are not sorted, you return {is} instead of the fraction and gap {exact}.
    -> A trace lists kernels in any order. What puts them in the right order?
overlap: If kernels overlap, you return {is} instead of the fraction and gap {exact}.
    -> How far is the time already covered when the next kernel starts? A long kernel may still run.
longest-operation: You name the operation that takes longest in the whole trace.
    -> Most of its time is outside the gap. Which part of each operation is within it?
wrong-cause: The gap of {gap} is right, but another operation runs longer within it.
    -> An operation can start before the gap, or end after it. Compare only the parts within it.
no-gap: A trace can have no gap, or no kernels. Then the gap is 0, and its cause is `None`.
    -> Run your function for one kernel, and for an empty list. What are the fractions?
"""
