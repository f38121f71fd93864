"""Lab 00, exercise 1: a program without jumps that stores the ReLU of x in y."""

from helpers.checks.lab_00.shared import NOTHING, a_program, failures_with_y, run, x_changed, y_of

answers = "relu_without_jumps()"
points = 3
success = "All lanes take the same path, whatever their numbers are."
section = "What the ALU computes"
returns = a_program
outcome = y_of
side_effects = failures_with_y


def cases(draw):
    r = draw.randint
    for x in (r(2, 99), -r(2, 99), 0, 1, -1, 2**31 - 1, -(2**31) + r(0, 99), 64, -64):
        yield {"data": {"x": x, "y": NOTHING}, "x": x}


def right(case):
    return max(case.x, 0)


def jumps(f):
    program = run(f).program
    return [i.text for i in program if i.opcode.category == "control flow" and i.text != "HALT"]


mistakes = {
    "other-half": lambda f: f.outcome == 0 < f.case.x,
    "negative-left": lambda f: f.outcome == f.case.x,
    "wrong-value": True,
}
costs = {"jumps": lambda f: (found := jumps(f)) and {"jump": found[0]}} | x_changed
hints = """
other-half: For x = {x}, the program stores {found} in `y`: it keeps exactly the wrong numbers.
    -> Which bits are all 1 for a negative x, and for which x should they be all 1?
negative-left: For x = {x}, the program stores {found} in `y`, but a negative number becomes 0.
    -> What are the 64 bits of a number that keeps nothing after AND, and of one that keeps all?
wrong-value: For x = {x}, the program stores {found} in `y`.
    -> Trace the program with this x. How many bits does a register have, and where is the sign?
jumps: The results are right, but the program jumps: `{jump}`.
    -> The flags are only for jumps. Which bit of x says the same as flag N?
"""
