"""Lab 08, exercise 5: the fraction of time in which at least one kernel runs."""

from helpers.checks.exercise import STANDARD, otherwise
from helpers.checks.plain import is_close, is_number

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
        lists = {
            "order": [*kernels[3:], *kernels[:3]],
            "overlap": [(first, length), (first + length - 2, 6), *others[2:]],
            "nested": [(first, last - first), *others, (last + 10, 5)],
            # The kernel that starts last is not the one that ends last.
            "ends": [*kernels[:2], (others[1][0], last + 10 - others[1][0]), *others[2:]],
        }
        for kind, kernel_list in {"sequence": kernels, **lists}.items():
            yield {"kernels": kernel_list, "kind": kind, "start": kernel_list[0][0]}
    yield {"kernels": [], "kind": "empty"}


def right(case):
    busy = {t for start, length in case.kernels for t in range(start, start + length)}
    return len(busy) / (max(busy) + 1 - min(busy)) if busy else 0


def busy(case):
    return sum(length for _, length in case.kernels)


def is_kind(*kinds):
    return lambda f: f.case.kind in kinds and {"found": f"{f.value:.4g}"}


def near(f, value):
    return is_close(f.value, value, tolerance, 0)


errors = {"empty": lambda f: f.case.kind == "empty"}
returns = ("not-a-number", lambda value, case: is_number(value))
side_effects = {"input-changed": STANDARD["input-changed"]}
mistakes = {
    "empty": is_kind("empty"),
    "order": is_kind("order"),
    "overlap": is_kind("overlap"),
    "nested": is_kind("nested", "ends"),
    "percent": lambda f: near(f, 100 * f.right),
    "idle": lambda f: near(f, 1 - f.right),
    "not-a-fraction": lambda f: f.value == busy(f.case),
    "from-zero": lambda f: near(f, busy(f.case) / sum(f.case.kernels[-1])),
    "last-kernel": lambda f: near(f, busy(f.case) / (f.case.kernels[-1][0] - f.case.start)),
    "wrong-fraction": otherwise,
}
hints = """
empty: For an empty list, `utilization` should return 0.
    -> What is the first start if there is no kernel?
percent: You return {found}, which is a percentage.
    -> A fraction is between 0 and 1.
idle: You return {found}, which is the fraction of time without a kernel.
    -> Utilization is the rest: the time with at least one kernel.
not-a-fraction: You return {found}, which is the time with a kernel.
    -> Divide it by the whole time.
from-zero: You return {found}, the fraction of the time since 0. The first kernel starts at {start}
    µs.
    -> The time begins with the first kernel.
last-kernel: You return {found}: your time ends when the last kernel starts.
    -> The last kernel takes time too.
wrong-fraction: You return {found}, which is wrong even for kernels that run one after another.
    -> A pair is the start and the *length* of a kernel. Work through a list of two kernels by hand.
order: If the kernels are not sorted by their start, you return {found}.
    -> A trace lists kernels in any order. What puts them in the right order?
overlap: If two kernels overlap, you return {found}: the time in which both run should count once.
    -> How far is the time already covered when the next kernel starts?
nested: If short kernels run during a long one, you return {found}.
    -> The kernel that starts last need not end last. What do you remember about the earlier ones?
"""
