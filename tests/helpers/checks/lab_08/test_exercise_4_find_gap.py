"""Answers to lab 08, exercise 4: `find_gap`."""

from itertools import combinations, groupby, pairwise

from helpers.checks import lab_08
from tests.helpers.checks.answers import Answers

answers = Answers(lab_08.exercise_4)


def busy_and_gaps(kernels):
    kernels = sorted(kernels)
    covered, busy, gaps = kernels[0][0], 0, [(0, 0, 0)]
    for start, length in kernels:
        gaps.append((start - covered, covered, start))
        busy += max(0, start + length - max(start, covered))
        covered = max(covered, start + length)
    return busy / (covered - kernels[0][0]), max(gaps)


def longest_within(operations, begin, end):
    return max(operations, key=lambda o: min(o[1] + o[2], end) - max(o[1], begin))[0]


@answers.right
def sorts_and_covers(kernels, operations):
    if not kernels:
        return 0, 0, None
    fraction, (length, begin, end) = busy_and_gaps(kernels)
    return fraction, length, longest_within(operations, begin, end) if length > 0 else None


@answers.right
def counts_microseconds(kernels, operations):
    busy = {t for start, length in kernels for t in range(start, start + length)}
    if not busy:
        return [0.0, 0, None]
    times = range(min(busy), max(busy) + 1)
    gaps = [[*group] for idle, group in groupby(times, lambda t: t not in busy) if idle]
    gap = max(gaps, key=len, default=[])
    counts = {name: sum(s <= t < s + n for t in gap) for name, s, n in operations}
    return [len(busy) / len(times), len(gap), max(counts, key=counts.get) if gap else None]


@answers.right
def merges_intervals(kernels, operations):
    merged = []
    for start, end in sorted((start, start + length) for start, length in kernels):
        if merged and start <= merged[-1][1]:
            start, end = merged[-1][0], max(merged.pop()[1], end)
        merged.append((start, end))
    gaps = [(b[0] - a[1], a[1], b[0]) for a, b in pairwise(merged)]
    fraction = 1 - sum(n for n, *_ in gaps) / (merged[-1][1] - merged[0][0]) if merged else 0
    length, *gap = max(gaps, default=(0, 0, 0))
    return fraction, float(length), longest_within(operations, *gap) if gaps else None


def variant(change):
    """Return the right answer with this change for traces that have a gap."""

    def answer(kernels, operations):
        results = sorts_and_covers(kernels, operations)
        gap = busy_and_gaps(kernels)[1] if results[1] else None
        return tuple(change(*results, kernels, operations, gap)) if gap else results

    return answer


def total(kernels):
    return max(map(sum, kernels)) - min(kernels)[0]


def without_pairs(kernels):
    overlaps = (min(sum(a), sum(b)) - max(a[0], b[0]) for a, b in combinations(kernels, 2))
    return sum(length for _, length in kernels) - sum(max(0, n) for n in overlaps)


def longest_step(kernels):
    return max(b[0] - sum(a) for a, b in pairwise(kernels))


def names_a_cause_without_a_gap(kernels, operations):
    fraction, (length, begin, end) = busy_and_gaps(kernels) if kernels else (0, (0, 0, 0))
    return fraction, length, longest_within(operations, begin, end)


WRONG = {
    "adds_up_all_lengths": ("overlap", variant(lambda f, n, c, k, o, gap: (
        sum(x[1] for x in k) / total(k), n, c))),
    "subtracts_overlap_of_pairs": ("overlap", variant(lambda f, n, c, k, o, gap: (
        without_pairs(k) / total(k), n, c))),
    "takes_end_of_kernel_before": ("overlap", variant(lambda f, n, c, k, o, gap: (
        f, longest_step(sorted(k)), c))),
    "does_not_sort": ("order", variant(lambda f, n, c, k, o, gap: (f, longest_step(k), c))),
    "rounds_the_fraction": ("plain", variant(lambda f, n, c, k, o, gap: (round(f, 3), n, c))),
    "adds_up_all_gaps": ("plain", variant(lambda f, n, c, k, o, gap: (f, (1 - f) * total(k), c))),
    "longest_of_all": ("longest-operation", variant(lambda f, n, c, k, o, gap: (
        f, n, max(o, key=lambda x: x[2])[0]))),
    "runs_when_the_gap_starts": ("longest-operation", variant(lambda f, n, c, k, o, gap: (
        f, n, max((x[1], x[0]) for x in o if x[1] <= gap[1])[1]))),
    "runs_when_the_gap_ends": ("wrong-cause", variant(lambda f, n, c, k, o, gap: (
        f, n, max((x[1], x[0]) for x in o if x[1] < gap[2])[1]))),
    "is_inside_the_gap": ("wrong-cause", variant(lambda f, n, c, k, o, gap: (
        f, n, next(x[0] for x in o if gap[1] <= x[1] and sum(x[1:]) <= gap[2])))),
    "names_a_cause_without_a_gap": ("no-gap", names_a_cause_without_a_gap),
    "fails_without_kernels": ("no-gap", lambda k, o: min(k) and sorts_and_covers(k, o)),
    "sorts_in_place": ("input-changed", lambda k, o: sorts_and_covers(k, o.sort() or o)),
    "returns_an_operation": ("not-three-values", variant(lambda f, n, c, k, o, gap: (f, n, o[0]))),
    "returns_the_fraction": ("not-three-values", lambda k, o: sorts_and_covers(k, o)[0]),
}  # fmt: skip
for name, (hint, answer) in WRONG.items():
    answer.__name__ = name
    answers.wrong(hint)(answer)
test_answers = answers.make_test()
