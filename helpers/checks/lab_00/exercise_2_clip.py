"""Lab 00, exercise 2: `clipped_relu`."""

from helpers.checks.lab_00.shared import lab, program_of, run
from helpers.checks.trial import Answer, Trial


@lab.exercise(2, points=2, success_message="Clipped at both ends.")
def exercise_2(trial: Trial, clipped_relu: Answer) -> None:
    """`clipped_relu()`: a program that stores x in y, but at least 0 and at most `limit`."""
    program = program_of(trial, clipped_relu)
    for _ in range(2):
        limit = trial.random.choice([5, 7, 8, 9]) * 10
        value = trial.random.randint(12, limit - 2)
        for x in (value, -value, limit + value, limit, limit + 1, 0, -1, 6, 7, limit - 0.5):
            computer = run(trial, program, x=x, limit=limit, y=777)
            y, expected = computer["y"], min(max(x, 0), limit)
            if y == expected:
                continue
            details = {"x": x, "limit": limit, "found": y}
            trial.expect(y != 777, "nothing-stored", **details)
            trial.expect(not (x < 0 and y == x), "not-at-zero", **details)
            trial.expect(not (x > limit and y == x), "not-at-the-limit", **details)
            trial.expect(not (x > 6 and y == 6), "fixed-limit", **details)
            raise trial.wrong("wrong-value", **details)
