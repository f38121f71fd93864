"""Answers to lab 00, exercise 4: `groups`."""

import re
from itertools import combinations
from pathlib import Path

import pytest

from helpers.checks import lab_00
from helpers.checks.lab_00.exercise_4_groups import count_cycles
from helpers.small_computer import SmallComputer
from tests.helpers.checks.answers import Answers

LAB = Path(__file__).parents[4] / "labs" / "source" / "00_cpu_and_gpu.py"
answers = Answers(lab_00.exercise_4)


@answers.right
def sorts_largest_first(x):
    ordered = sorted(x, reverse=True)
    return tuple(ordered[:4]), tuple(ordered[4:])


@answers.right
def splits_by_sign(x):
    both = [value for value in x if value < 0] + [value for value in x if value >= 0]
    return [both[:4], both[4:]]


@answers.wrong("diverges")
def sorts_by_absolute_value(x):
    ordered = sorted(x, key=abs)
    return ordered[:4], ordered[4:]


@answers.wrong("not-four-each")
def takes_what_is_not_in_the_first_group(x):
    group = sorted(x)[:4]
    return group, [value for value in x if value not in group]


@answers.wrong("diverges")
def minimizes_the_longer_run(x):
    chosen = combinations(range(8), 4)
    halves = [([x[i] for i in c], [x[i] for i in range(8) if i not in c]) for c in chosen]
    return min(halves, key=lambda groups: max(count_cycles([group]) for group in groups))


@answers.wrong("not-four-each")
def splits_into_negative_and_other_numbers(x):
    return [v for v in x if v < 0], [v for v in x if v >= 0]


@answers.wrong("different-numbers")
def drops_the_signs(x):
    ordered = sorted(map(abs, x))
    return ordered[:4], ordered[4:]


@answers.wrong("not-two-groups")
def returns_one_sorted_list(x):
    return sorted(x)


@answers.wrong("no-result")
def sorts_in_place_and_returns_nothing(x):
    x.sort()


@pytest.mark.parametrize("negatives", range(5))
def test_cycles_are_those_of_the_labs_program(negatives):
    program = re.search(r'two_ways = """(.*?)"""', LAB.read_text(), re.DOTALL)[1]
    x = [-1] * negatives + [1] * (4 - negatives)
    assert count_cycles([x]) == SmallComputer(program, lanes=4, x=x, y=[0] * 4).run().cycles


test_answers = answers.make_test()
