"""Lab 05, exercise 4: `plan`."""

import math
from typing import Any

from helpers.checks.lab_05.shared import lab
from helpers.checks.trial import Answer, Trial


@lab.exercise(4, points=2, right="A larger batch, fewer steps, and a learning rate to match.")
def exercise_4(trial: Trial, plan: Answer) -> None:
    """`plan(images, batch, base_batch=4, base_rate=0.001, limit=0.1)`: steps and rate."""
    draw = trial.random.randint
    bases: list[dict[str, Any]] = [{}, {"base_batch": 3, "base_rate": 0.002, "limit": 0.3}]
    bases += [{"base_batch": 8, "base_rate": 0.004}]
    for given in bases:
        base_batch, base = given.get("base_batch", 4), given.get("base_rate", 0.001)
        limit = given.get("limit", 0.1)
        for batch in (base_batch, draw(20, 39), 64, draw(2, 3), 4096, 512):
            for images in (batch * draw(3, 90), batch * draw(3, 90) + draw(1, batch - 1)):
                found = trial.result_of(plan, images, batch, **given)
                pair = isinstance(found, tuple | list) and len(found) == 2
                pair = pair and type(found[0]) is int and type(found[1]) in (int, float)
                trial.expect(pair, "not-a-pair", what=repr(found)[:60])
                steps, rate = found
                details = {"images": images, "batch": batch, "found": steps}
                left = images - steps * batch
                trial.expect(left <= 0, "last-batch-lost", left=left, **details)
                trial.expect(left > -batch, "step-too-many", **details)
                linear = base * batch / base_batch
                if math.isclose(rate, min(linear, limit), rel_tol=1e-6):
                    continue
                details = {"batch": batch, "found": rate, "base": base, "base_batch": base_batch}
                larger = batch > base_batch
                trial.expect(not (larger and rate == base), "old-rate", batch=batch, found=rate)
                trial.expect(not larger or rate > base, "wrong-way", **details)
                root = math.isclose(rate, min(base * (batch / base_batch) ** 0.5, limit))
                trial.expect(not root, "root-rule", batch=batch, found=rate)
                above = larger and rate > limit
                trial.expect(not above, "no-limit", batch=batch, found=rate, limit=limit)
                raise trial.wrong("wrong-rate", **details)
