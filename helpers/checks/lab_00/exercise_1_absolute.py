"""Lab 00, exercise 1: a program that stores the absolute value of x in y."""

from helpers.checks.lab_00.shared import NOTHING, a_program, failures_with_y, x_changed, y_of

answers = "absolute()"
points = 2
success = "The absolute value of every whole number."
section = "ReLU, one instruction at a time"
returns = a_program
outcome = y_of
side_effects = failures_with_y | x_changed


def cases(draw):
    r = draw.randint
    for x in (r(2, 99), -r(2, 99), 0, -1):
        yield {"data": {"x": x, "y": NOTHING}, "x": x}


def right(case):
    return abs(case.x)


wrong_outcomes = {"wrong-sign": lambda case: -abs(case.x)}
mistakes = {"wrong-value": True}
hints = """
wrong-sign: For x = {x}, the program stores {found} in `y`: the sign is wrong.
    -> Which jump skips the lines that change the sign, and when should it jump?
wrong-value: For x = {x}, the program stores {found} in `y`.
    -> Trace the program with this x and look at the flags before each jump.
"""
