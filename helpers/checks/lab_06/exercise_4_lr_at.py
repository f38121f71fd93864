"""Lab 06, exercise 4: `lr_at`."""

import math

from helpers.checks.lab_06.shared import lab
from helpers.checks.trial import Answer, Trial, describe, is_number


@lab.exercise(4, points=2, right="The learning rate rises linearly, and decays linearly to zero.")
def exercise_4(trial: Trial, lr_at: Answer) -> None:
    """`lr_at(step, num_steps, peak_lr, warmup_steps)`: linear warmup, then linear decay."""
    draw = trial.random.randint
    for warmup_steps in (draw(5, 20), 0):
        num_steps, peak_lr = warmup_steps + draw(30, 90), draw(2, 9) / 16
        places = [warmup_steps, 0, num_steps, warmup_steps // 2, num_steps - 1, warmup_steps + 1]
        places += [draw(0, num_steps) for _ in range(6)]
        for step in places:
            called = trial.try_call(lr_at, step, num_steps, peak_lr, warmup_steps)
            if isinstance(called.error, ZeroDivisionError):
                raise trial.wrong(
                    "divides-by-zero", warmup_steps=warmup_steps, num_steps=num_steps, step=step
                )
            if called.error is not None:
                raise trial.why(called.error)
            found = called.value
            trial.expect_result(found)
            plain = is_number(found)
            trial.expect(plain, "not-a-rate", found=describe(found))
            exact = peak_lr * (
                step / warmup_steps
                if step < warmup_steps
                else (num_steps - step) / (num_steps - warmup_steps)
            )
            if math.isclose(found, exact, rel_tol=1e-6, abs_tol=1e-9):
                continue
            details = {
                "step": step,
                "found": found,
                "peak_lr": peak_lr,
                "warmup_steps": warmup_steps,
                "num_steps": num_steps,
            }
            trial.expect(step != warmup_steps, "top-missed", **details)
            trial.expect(step != num_steps, "end-missed", **details)
            raise trial.wrong("not-rising" if step < warmup_steps else "not-falling", **details)
