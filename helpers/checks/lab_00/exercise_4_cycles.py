"""Lab 00, exercise 4: the cycles that a program takes for a list of n numbers."""

from helpers.checks.exercise import otherwise
from helpers.checks.plain import is_int
from helpers.small_computer import SmallComputer

answers = "cycles(n)"
points = 3
success = "You can predict the cost of a program without running it."
section = "A computer you can watch"

# The program shown in the lab.
SUM_OF_SQUARES = """
        LOAD B, n
        SET  A, 0
        SET  I, 0
next:   CMP  I, B
        JZ   done
        LOAD C, x[I]
        MUL  C, C
        ADD  A, C
        ADD  I, 1
        JUMP next
done:   STORE A, y
        HALT
"""


def cases(draw):
    yield from ({"n": n} for n in (draw.randint(4, 9), 1, 2, 0, draw.randint(50, 99)))


def cost(n):
    return SmallComputer(SUM_OF_SQUARES, x=[1] * max(n, 1), n=n, y=0).run()


def right(case):
    return cost(case.n).cycles


returns = ("not-a-whole-number", lambda value, case: is_int(value))
wrong_outcomes = {
    "counts-instructions": lambda case: cost(case.n).instructions,
    "one-missing": lambda case: cost(case.n).cycles - 1,
    "last-test-missing": lambda case: cost(case.n).cycles - 2,
    "loop-counted-once": lambda case: cost(1).cycles,
    "all-in-the-loop": lambda case: case.n * cost(1).cycles,
}
mistakes = {"wrong-cycles": otherwise}
hints = """
not-a-whole-number: `cycles` returns {what}, but it should return an int.
    -> Every instruction takes a whole number of cycles.
counts-instructions: For n = {n}, your answer is {found}. That is the number of instructions, but
    they do not all take one cycle.
    -> Look at the last column of `INSTRUCTION_SET`. Which instructions of the program use memory?
one-missing: For n = {n}, your answer, {found}, is one cycle too low.
    -> Which instruction runs exactly once, at the very end?
last-test-missing: For n = {n}, your answer, {found}, is two cycles too low.
    -> How often does the program compare I with B: as often as it adds a square?
    see: Many lanes, one control unit
loop-counted-once: For n = {n}, your answer is {found}, the same as for a list with one number.
    -> Some instructions run once, others run once for each number. Count the two groups separately.
    see: Many lanes, one control unit
all-in-the-loop: For n = {n}, your answer is {found}: {n} times the cycles for one number.
    -> Which instructions run only once, however long the list is?
    see: Many lanes, one control unit
wrong-cycles: For n = {n}, your answer is {found}, which is not what the program takes.
    -> Write the cycles of each instruction next to it, and how often it runs for a list of two
    numbers. Then try n = 0.
"""
