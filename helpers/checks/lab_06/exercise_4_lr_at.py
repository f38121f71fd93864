"""Lab 06, exercise 4: `lr_at`."""

import math

from helpers.checks.descriptions import describe, is_number
from helpers.checks.lab_06.shared import lab
from helpers.checks.trial import Answer, Trial


@lab.exercise(
    4, points=2, success_message="The learning rate rises linearly, and decays linearly to zero."
)
def exercise_4(trial: Trial, lr_at: Answer) -> None:
    """`lr_at(step, num_steps, peak_lr, warmup_steps)`: linear warmup, then linear decay."""
    draw = trial.random.randint
    for warmup_steps in (draw(5, 20), 0):
        num_steps, peak_lr = warmup_steps + draw(30, 90), draw(2, 9) / 16
        steps = [warmup_steps, 0, num_steps, warmup_steps // 2, num_steps - 1, warmup_steps + 1]
        steps += [draw(0, num_steps) for _ in range(6)]
        for step in steps:
            outcome = trial.try_call(lr_at, step, num_steps, peak_lr, warmup_steps)
            if isinstance(outcome.error, ZeroDivisionError):
                raise trial.wrong(
                    "divides-by-zero", warmup_steps=warmup_steps, num_steps=num_steps, step=step
                )
            if outcome.error is not None:
                raise trial.hint_for(outcome.error)
            result = outcome.value
            trial.expect_result(result)
            is_plain = is_number(result)
            trial.expect(is_plain, "not-a-rate", found=describe(result))
            exact = peak_lr * (
                step / warmup_steps
                if step < warmup_steps
                else (num_steps - step) / (num_steps - warmup_steps)
            )
            if math.isclose(result, exact, rel_tol=1e-6, abs_tol=1e-9):
                continue
            details = {
                "step": step,
                "found": result,
                "peak_lr": peak_lr,
                "warmup_steps": warmup_steps,
                "num_steps": num_steps,
            }
            trial.expect(step != warmup_steps, "peak-missed", **details)
            trial.expect(step != num_steps, "end-missed", **details)
            raise trial.wrong("wrong-warmup" if step < warmup_steps else "wrong-decay", **details)
