"""Lab 06, exercise 4: the check of `rate_at`, and its hints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_06.shared import REST, lab

NOT_A_RATE = Hint(
    "not-a-rate",
    "`rate_at` returns {found}; a number is asked for.",
    "The learning rate at one step is one plain number.",
    REST,
)

DIVIDES_BY_ZERO = Hint(
    "divides-by-zero",
    "With `rise` = {rise} and `steps` = {steps}, `rate_at` divides by zero at step {step}.",
    "Without a rise the rate begins at its peak. Which of your two lines is asked then?",
    REST,
)

TOP_MISSED = Hint(
    "top-missed",
    "At step {step}, where the rise ends, the rate is {found:.4g}; it should be the peak, "
    "{peak:.4g}.",
    "Put the number of this step into both of your lines. Do they meet at the peak?",
    REST,
)

NOT_RISING = Hint(
    "not-rising",
    "At step {step} of a rise of {rise} steps, the rate is {found:.4g}; a straight line from 0 at "
    "step 0 to {peak:.4g} at step {rise} is asked for.",
    "What share of the rise lies behind this step?",
    REST,
)

END_MISSED = Hint(
    "end-missed",
    "At step {step} of {steps}, the end of the run, the rate is {found:.4g}; it should be 0.",
    "The end of the line is where most of the accuracy comes from. How many steps does the fall "
    "take?",
    REST,
)

NOT_FALLING = Hint(
    "not-falling",
    "At step {step} of {steps}, the rate is {found:.4g}; on a straight line from the peak at step "
    "{rise} to 0 at step {steps} it is another.",
    "What share of the fall still lies before this step? Count the steps of the fall alone.",
    REST,
)


@lab.exercise(4, points=2, right="Up in a straight line, and down to nothing.")
def exercise_4(trial: Trial, rate_at: Callable[..., Any]) -> None:
    """`rate_at(step, steps, peak, rise)`: a straight line up, and another down to 0."""
    draw = trial.random.randint
    for rise in (draw(5, 20), 0):
        steps, peak = rise + draw(30, 90), draw(2, 9) / 16
        places = [rise, 0, steps, rise // 2, steps - 1, rise + 1]
        places += [draw(0, steps) for _ in range(6)]
        for step in places:
            outcome = trial.outcome(rate_at, step, steps, peak, rise)
            if isinstance(outcome.error, ZeroDivisionError):
                raise DIVIDES_BY_ZERO.of(rise=rise, steps=steps, step=step)
            if outcome.error is not None:
                raise trial.why(outcome.error)
            found = outcome.value
            trial.expect_result(found)
            plain = isinstance(found, int | float) and not isinstance(found, bool)
            trial.expect(plain, NOT_A_RATE, found=f"a {type(found).__name__}")
            exact = peak * (step / rise if step < rise else (steps - step) / (steps - rise))
            if math.isclose(found, exact, rel_tol=1e-6, abs_tol=1e-9):
                continue
            told = {"step": step, "found": found, "peak": peak, "rise": rise, "steps": steps}
            trial.expect(step != rise, TOP_MISSED, **told)
            trial.expect(step != steps, END_MISSED, **told)
            raise (NOT_RISING if step < rise else NOT_FALLING).of(**told)
