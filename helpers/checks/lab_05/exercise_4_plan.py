"""Lab 05, exercise 4: `plan`."""

import math
from typing import Any

from helpers.checks.lab_05.shared import lab
from helpers.checks.trial import Answer, Trial


@lab.exercise(
    4, points=2, success_message="A larger batch, fewer steps, and a learning rate to match."
)
def exercise_4(trial: Trial, plan: Answer) -> None:
    """`plan(images, batch, base_batch=4, base_rate=0.001, limit=0.1)`: steps and rate."""
    draw = trial.random.randint
    bases: list[dict[str, Any]] = [{}, {"base_batch": 3, "base_rate": 0.002, "limit": 0.3}]
    bases += [{"base_batch": 8, "base_rate": 0.004}]
    for options in bases:
        base_batch, base_rate = options.get("base_batch", 4), options.get("base_rate", 0.001)
        limit = options.get("limit", 0.1)
        for batch in (base_batch, draw(20, 39), 64, draw(2, 3), 4096, 512):
            for images in (batch * draw(3, 90), batch * draw(3, 90) + draw(1, batch - 1)):
                result = trial.result_of(plan, images, batch, **options)
                is_pair = isinstance(result, tuple | list) and len(result) == 2
                is_pair = is_pair and type(result[0]) is int and type(result[1]) in (int, float)
                trial.expect(is_pair, "not-a-pair", what=repr(result)[:60])
                steps, rate = result
                details = {"images": images, "batch": batch, "found": steps}
                images_left = images - steps * batch
                trial.expect(images_left <= 0, "last-batch-lost", left=images_left, **details)
                trial.expect(images_left > -batch, "too-many-steps", **details)
                linear = base_rate * batch / base_batch
                if math.isclose(rate, min(linear, limit), rel_tol=1e-6):
                    continue
                details = {
                    "batch": batch,
                    "found": rate,
                    "base": base_rate,
                    "base_batch": base_batch,
                }
                larger = batch > base_batch
                trial.expect(
                    not (larger and rate == base_rate), "rate-unchanged", batch=batch, found=rate
                )
                trial.expect(not larger or rate > base_rate, "rate-decreased", **details)
                square_root = math.isclose(
                    rate, min(base_rate * (batch / base_batch) ** 0.5, limit)
                )
                trial.expect(not square_root, "square-root-rule", batch=batch, found=rate)
                above_limit = larger and rate > limit
                trial.expect(not above_limit, "no-limit", batch=batch, found=rate, limit=limit)
                raise trial.wrong("wrong-rate", **details)
