"""Answers to lab 00, exercise 2: `cycles`."""

import re
from pathlib import Path

from helpers.checks import lab_00
from helpers.checks.collecting import Case
from helpers.checks.lab_00 import exercise_2_cycles
from helpers.small_computer import SmallComputer
from tests.helpers.checks.answers import Answers

LAB = Path(__file__).parents[4] / "labs" / "source" / "00_cpu_and_gpu.py"
answers = Answers(lab_00.exercise_2)


@answers.right
def counts_two_groups(n):
    return 4 + 1 + 1 + 4 + 1 + 8 * n + 2 * (n + 1)


@answers.right
def counts_in_a_loop(n):
    total = 4 + 1 + 1
    for _ in range(n):
        total += 1 + 1 + 4 + 1 + 1 + 1 + 1
    return total + 1 + 1 + 4 + 1


@answers.wrong("counts-instructions")
def counts_instructions(n):
    return 7 + 7 * n


@answers.wrong("last-test-missing")
def forgets_the_last_test(n):
    return 11 + 10 * n


@answers.wrong("wrong-cycles")
def multiplies_all_cycles_by_n(n):
    return 23 * n


@answers.right
def returns_a_float(n):
    return 13 + 20 * n / 2


@answers.wrong("not-an-int")
def returns_half_a_cycle(n):
    return 13.5 + 10 * n


@answers.wrong("no-result")
def prints_the_answer(n):
    print(13 + 10 * n)


def test_formulas_are_those_of_the_labs_program():
    program = re.search(r'sum_of_squares = """(.*?)"""', LAB.read_text(), re.DOTALL)[1]
    for n in range(9):
        run = SmallComputer(program, x=[1] * max(n, 1), n=n, y=0).run()
        assert exercise_2_cycles.right(Case(n=n)) == run.cycles
        counts_instructions = exercise_2_cycles.wrong_outcomes["counts-instructions"]
        assert counts_instructions(Case(n=n)) == run.instructions


test_answers = answers.make_test()
