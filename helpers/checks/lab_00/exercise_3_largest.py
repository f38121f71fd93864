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
    lists = [[50, 0, *numbers[:3], 100, *numbers[3:]], [-100 - value for value in numbers]]
    lists += [[200, *numbers], [*numbers, 200], [draw.randrange(-99, 99)], [5, 5, 5]]
    for x in lists:
        yield {"data": {"x": x, "n": len(x), "y": NOTHING}, "x": x, "values": x}


def right(case):
    return max(case.x)


mistakes = {
    "starts-at-zero": lambda f: f.outcome == 0 > f.right,
    "last-missed": lambda f: f.outcome == max(f.case.x[:-1], default=None),
    "wrong-value": True,
}
costs = x_changed
hints = """
starts-at-zero: For x = {values}, the program stores 0 in `y`, which is not in the list.
    -> If all numbers are negative, none of them is larger than 0. What is a better first candidate?
last-missed: For x = {values}, the program stores {found} in `y`: it misses the last one.
    -> Which value of the index ends your loop, and is that number compared before the loop ends?
wrong-value: For x = {values}, the program stores {found} in `y`.
    -> Trace the program with a list of two numbers, in both orders.
"""
