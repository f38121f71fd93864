"""Lab 08, exercise 4: the fraction of time in which at least one kernel runs."""

from helpers.checks.plain import is_number

answers = "utilization(kernels)"
points = 3
success = "You can tell how busy a GPU was."
section = "Profile a training step"
tolerance = 1e-6


def cases(draw):
    for _ in range(3):
        kernels, start = [], draw.randint(20, 40)
        for _ in range(6):
            kernels.append((start, draw.randint(3, 9)))
            start += kernels[-1][1] + draw.randint(5, 20)
        (first, length), *others = kernels
        last = sum(kernels[-1])
        yield {"kernels": kernels, "kind": "wrong-fraction"}
        yield {"kernels": [*kernels[3:], *kernels[:3]], "kind": "order"}
        triple = (first + length - 2, 6), (first + length - 1, 8)
        overlapping = [(first, length), *triple, *others[2:]]
        nested = [(first, last - first), *others, (last + 10, 5)]
        # The kernel that starts last is not the one that ends last.
        ends = [*kernels[:2], (others[1][0], last + 10 - others[1][0]), *others[2:]]
        yield from ({"kernels": k, "kind": "overlap"} for k in (overlapping, nested, ends))
    yield {"kernels": [], "kind": "empty"}


def right(case):
    busy = {t for start, length in case.kernels for t in range(start, start + length)}
    return len(busy) / (max(busy) + 1 - min(busy)) if busy else 0


errors = {"empty": lambda f: f.case.kind == "empty"}
returns = ("not-a-number", lambda value, case: is_number(value))
questions = ["input-changed"]
mistakes = {
    kind: lambda f, kind=kind: f.case.kind == kind and {"found": f"{f.value:.4g}"}
    for kind in ("wrong-fraction", "order", "overlap", "empty")
}
hints = """
wrong-fraction: You return {found}, which is wrong even for kernels that run one after another.
    -> A pair is the start and the *length* of a kernel. Work through a list of two kernels by hand.
order: If the kernels are not sorted by their start, you return {found}.
    -> A trace lists kernels in any order. What puts them in the right order?
overlap: If two kernels overlap, you return {found}: the time in which both run should count once.
    -> How far is the time already covered when the next kernel starts?
empty: For an empty list, `utilization` should return 0.
    -> What is the first start if there is no kernel?
"""
