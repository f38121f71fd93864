"""Lab 00, exercise 2: a program that stores x in y, but at least 0 and at most `limit`."""

from helpers.checks.lab_00.shared import NOTHING, a_program, failures_with_y, y_of

answers = "clipped_relu()"
points = 2
success = "Clipped at both ends."
section = "ReLU, one instruction at a time"
returns = a_program
outcome = y_of
side_effects = failures_with_y


def cases(draw):
    for limit in (10 * draw.choice([5, 7, 8, 9]), 10 * draw.choice([5, 7, 8, 9])):
        value = draw.randint(12, limit - 2)
        for x in (value, -value, limit + value, limit, limit + 1, 0, -1, 6, 7, limit - 1):
            yield {"data": {"x": x, "limit": limit, "y": NOTHING}, "x": x, "limit": limit}


def right(case):
    return min(max(case.x, 0), case.limit)


mistakes = {
    "not-at-zero": lambda f: f.outcome == f.case.x < 0,
    "not-at-the-limit": lambda f: f.outcome == f.case.x > f.case.limit,
    "wrong-value": True,
}
hints = """
not-at-zero: For x = {x}, the program stores {found} in `y`; a negative number should become 0.
    -> There are two comparisons. Does a negative number pass through both unchanged?
not-at-the-limit: For x = {x} and limit = {limit}, the program stores {found} in `y`.
    -> What should happen if x is larger? Which flag does CMP set then, in your order of operands?
wrong-value: For x = {x} and limit = {limit}, the program stores {found} in `y`.
    -> Trace the program with these data. After which instruction is a register not as expected?
"""
