"""Lab 00, exercise 1: `absolute`."""

from helpers.checks.lab_00.shared import lab, program_of, run
from helpers.checks.trial import Answer, Trial

# The value of y before the program runs; no check uses it as an input.
_INITIAL_VALUE = 777


@lab.exercise(1, points=2, success_message="The absolute value of every number.")
def exercise_1(trial: Trial, absolute: Answer) -> None:
    """`absolute()`: a program that stores the absolute value of x in y."""
    program = program_of(trial, absolute)
    draw = trial.random.randint
    for x in (draw(2, 99), -draw(2, 99), 0, -1, draw(100, 200) + 0.5, -draw(100, 200) - 0.5):
        computer = run(trial, program, x=x, y=_INITIAL_VALUE)
        y = computer["y"]
        trial.expect(y != _INITIAL_VALUE, "nothing-stored", x=x)
        trial.expect(computer["x"] == x, "x-changed", x=x, found=computer["x"])
        details = {"x": x, "found": y}
        trial.expect(not (x and y == -abs(x)), "wrong-sign", **details)
        trial.expect(not (y == 0 != x), "relu-instead", **details)
        trial.expect(y == abs(x), "wrong-value", **details)
