"""Lab 00, exercise 3: a program that stores the largest of `n` numbers in y."""

from helpers.checks.lab_00.shared import NOTHING, a_program, failures_with_y, x_changed, y_of

answers = "largest()"
points = 3
success = "The largest of any list."
section = "Many lanes, one control unit"
returns = a_program
outcome = y_of
side_effects = failures_with_y


def cases(draw):
    numbers = draw.sample(range(1, 99), 6)
    # The first list starts with neither its smallest nor its largest number.
    # No number that students take for the smallest one is smaller than those of the second.
    lists = [[50, 0, *numbers[:3], 100, *numbers[3:]], [-(10**12) - value for value in numbers]]
    lists += [[200, *numbers], [*numbers, 200], [draw.randrange(-99, 99)], [5, 5, 5]]
    for x in lists:
        yield {"data": {"x": x, "n": len(x), "y": NOTHING}, "x": x, "values": x}


def right(case):
    return max(case.x)


mistakes = {
    "not-in-the-list": lambda f: f.outcome not in f.case.x,
    "last-missed": lambda f: f.outcome == max(f.case.x[:-1], default=None),
    "wrong-value": True,
}
costs = x_changed
hints = """
not-in-the-list: For x = {values}, the program stores {found} in `y`, which is not in the list.
    -> Whichever constant you start with, all numbers may be smaller. What is a better first one?
last-missed: For x = {values}, the program stores {found} in `y`: it misses the last one.
    -> Which value of the index ends your loop, and is that number compared before the loop ends?
wrong-value: For x = {values}, the program stores {found} in `y`.
    -> Trace the program with a list of two numbers, in both orders.
"""
