"""Lab 06, exercise 4: `rate_at`."""

import math

from helpers.checks.lab_06.shared import lab
from helpers.checks.trial import Answer, Trial, described, is_number


@lab.exercise(4, points=2, right="Up in a straight line, and down to zero.")
def exercise_4(trial: Trial, rate_at: Answer) -> None:
    """`rate_at(step, steps, peak, rise)`: a straight line up, and another down to 0."""
    draw = trial.random.randint
    for rise in (draw(5, 20), 0):
        steps, peak = rise + draw(30, 90), draw(2, 9) / 16
        places = [rise, 0, steps, rise // 2, steps - 1, rise + 1]
        places += [draw(0, steps) for _ in range(6)]
        for step in places:
            called = trial.try_call(rate_at, step, steps, peak, rise)
            if isinstance(called.error, ZeroDivisionError):
                raise trial.wrong("divides-by-zero", rise=rise, steps=steps, step=step)
            if called.error is not None:
                raise trial.why(called.error)
            found = called.value
            trial.expect_result(found)
            plain = is_number(found)
            trial.expect(plain, "not-a-rate", found=described(found))
            exact = peak * (step / rise if step < rise else (steps - step) / (steps - rise))
            if math.isclose(found, exact, rel_tol=1e-6, abs_tol=1e-9):
                continue
            details = {"step": step, "found": found, "peak": peak, "rise": rise, "steps": steps}
            trial.expect(step != rise, "top-missed", **details)
            trial.expect(step != steps, "end-missed", **details)
            raise trial.wrong("not-rising" if step < rise else "not-falling", **details)
