"""Answers to lab 08, exercise 4: `utilization`."""

from itertools import combinations

from helpers.checks import lab_08
from tests.helpers.checks.answers import Answers

answers = Answers(lab_08.exercise_4)


@answers.right
def sorts_and_covers(kernels):
    if not kernels:
        return 0
    kernels = sorted(kernels)
    covered, busy = kernels[0][0], 0
    for start, length in kernels:
        busy += max(0, start + length - max(start, covered))
        covered = max(covered, start + length)
    return busy / (covered - kernels[0][0])


@answers.right
def counts_microseconds(kernels):
    busy = {t for start, length in kernels for t in range(start, start + length)}
    return len(busy) / (max(busy) - min(busy) + 1) if busy else 0.0


@answers.wrong("overlap")
def adds_up_all_lengths(kernels):
    if not kernels:
        return 0
    first, last = min(s for s, _ in kernels), max(s + n for s, n in kernels)
    return sum(length for _, length in kernels) / (last - first)


@answers.wrong("overlap")
def subtracts_the_overlap_of_each_pair(kernels):
    if not kernels:
        return 0
    busy = sum(length for _, length in kernels)
    for (a, first), (b, second) in combinations(kernels, 2):
        busy -= max(0, min(a + first, b + second) - max(a, b))
    return busy / (max(map(sum, kernels)) - min(kernels)[0])


@answers.wrong("order")
def takes_first_and_last_of_the_list(kernels):
    return sum(n for _, n in kernels) / (sum(kernels[-1]) - kernels[0][0]) if kernels else 0


@answers.wrong("wrong-fraction")
def returns_a_percentage(kernels):
    return 100 * sorts_and_covers(kernels)


@answers.wrong("empty")
def fails_without_kernels(kernels):
    busy = {t for start, length in kernels for t in range(start, start + length)}
    return len(busy) / (max(busy) - min(busy) + 1)


@answers.wrong("input-changed")
def sorts_in_place(kernels):
    kernels.sort(reverse=True)
    return sorts_and_covers(kernels)


@answers.wrong("not-a-number")
def returns_text(kernels):
    return f"{sorts_and_covers(kernels):.0%}"


test_answers = answers.make_test()
