"""Lab 00, exercise 3: a program that stores the largest of `n` numbers in y."""

from helpers.checks.exercise import otherwise
from helpers.checks.lab_00.shared import NOTHING, a_program, failures, run, y_of

answers = "largest()"
points = 3
success = "The largest of any list."
section = "Many lanes, one control unit"
returns = a_program
outcome = y_of
side_effects = failures


def cases(draw):
    numbers = draw.sample(range(1, 99), 6)
    # The first list starts with neither its smallest nor its largest number.
    lists = [[50, 0, *numbers[:3], 100, *numbers[3:]], [-100 - value for value in numbers]]
    lists += [[200, *numbers], [*numbers, 200], [draw.randrange(-99, 99)], [5, 5, 5]]
    yield from ({"data": {"x": x, "n": len(x), "y": NOTHING}, "values": x} for x in lists)


def right(case):
    return max(case["values"])


mistakes = {
    "nothing-stored": lambda f: f.outcome == NOTHING,
    "starts-at-zero": lambda f: f.outcome == 0 > f.right,
    "smallest": lambda f: f.outcome == min(f.case["values"]),
    "last-missed": lambda f: f.outcome == max(f.case["values"][:-1], default=None),
    "first-missed": lambda f: f.outcome == max(f.case["values"][1:], default=None),
    "wrong-value": otherwise,
}
costs = {"list-changed": lambda f: run(f)["x"] != f.case["values"]}
hints = """
nothing-stored: For x = {values}, the program stores nothing in `y`.
    -> Does the program reach its STORE for a list of this length?
starts-at-zero: For x = {values}, the program stores 0 in `y`, which is not in the list.
    -> If all numbers are negative, none of them is larger than 0. What is a better first candidate?
smallest: For x = {values}, the program stores {found} in `y`, the smallest number.
    -> When should a new number replace the candidate? Read your CMP and your jump together.
last-missed: For x = {values}, the program stores {found} in `y`: it does not look at the last
    number.
    -> Which value of the index ends your loop, and is that number compared before the loop ends?
first-missed: For x = {values}, the program stores {found} in `y`: it does not look at the first
    number.
    -> Indices start at 0. Where does yours start, and what is your first candidate?
list-changed: For x = {values}, the result is right, but the program changes the list in memory.
    -> Keep the candidate in a register. Which STORE writes to the list?
wrong-value: For x = {values}, the program stores {found} in `y`.
    -> Trace the program with a list of two numbers, in both orders.
"""
