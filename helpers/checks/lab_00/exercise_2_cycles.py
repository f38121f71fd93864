"""Lab 00, exercise 2: the cycles that a program takes for a list of n numbers."""

from helpers.checks.plain import is_number

answers = "cycles(n)"
points = 3
success = "You can predict the cost of a program without running it."
section = "A computer you can watch"


def cases(draw):
    yield from ({"n": n} for n in (draw.randint(4, 9), 1, 2, 0, draw.randint(50, 99)))


def right(case):
    # The program shown in the lab: 11 cycles once, 8 per number, and n + 1 tests of 2 cycles.
    return 13 + 10 * case.n


returns = ("not-an-int", lambda value, case: is_number(value) and value % 1 == 0)
wrong_outcomes = {
    "counts-instructions": lambda case: 7 + 7 * case.n,
    "last-test-missing": lambda case: 11 + 10 * case.n,
}
mistakes = {"wrong-cycles": True}
hints = """
counts-instructions: For n = {n}, your answer is {found}. That is the number of instructions, but
    they do not all take one cycle.
    -> Look at the last column of `INSTRUCTION_SET`. Which instructions of the program use memory?
last-test-missing: For n = {n}, your answer, {found}, is two cycles too low.
    -> How often does the program compare I with B: as often as it adds a square?
    see: Many lanes, one control unit
wrong-cycles: For n = {n}, your answer is {found}, which is not what the program takes.
    -> Next to each instruction, write its cycles and how often it runs for n = 2. Then try n = 0.
"""
