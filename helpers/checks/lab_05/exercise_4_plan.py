"""Lab 05, exercise 4: the check of `plan`, and its hints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_05.shared import LARGER, lab

_LADDER = "The ladder"

NOT_A_PAIR = Hint(
    "not-a-pair",
    "`plan` returns {what}; a pair is asked for: the steps as a whole number, and the rate.",
    "Two values behind one `return`, with a comma between them.",
    _LADDER,
)

LAST_BATCH_LOST = Hint(
    "last-batch-lost",
    "For {images} images in batches of {batch}, you plan {found} steps, and {left} images are left "
    "over.",
    "The last batch of an epoch may be smaller than the others, and is a step all the same.",
    LARGER,
)

STEP_TOO_MANY = Hint(
    "step-too-many",
    "For {images} images in batches of {batch}, you plan {found} steps; the last would have no "
    "image.",
    "Try numbers that divide without a rest.",
    LARGER,
)

OLD_RATE = Hint(
    "old-rate",
    "For batches of {batch}, `plan` keeps the rate of {found:g}.",
    "Fewer steps for the same images: how far must each of them go?",
    _LADDER,
)

WRONG_WAY = Hint(
    "wrong-way",
    "For batches of {batch}, your rate is {found:g}, which is smaller than the {base:g} for "
    "batches of {base_batch}.",
    "Which of the two batch sizes stands above the line of the fraction?",
    _LADDER,
)

ROOT_RULE = Hint(
    "root-rule",
    "For batches of {batch}, your rate is {found:g}: it grows with the root of the batch size.",
    "There is such a rule too, and another is asked for: twice as many images, twice as far.",
    _LADDER,
)

NO_LIMIT = Hint(
    "no-limit",
    "For batches of {batch}, your rate is {found:g}; the limit is {limit:g}.",
    "Beyond some rate training no longer runs steadily. Which of two numbers do you take, then?",
    _LADDER,
)

WRONG_RATE = Hint(
    "wrong-rate",
    "For batches of {batch}, your rate is {found:g}. It is {base:g} for batches of {base_batch}.",
    "How many times as large is the batch? The rate grows by the same factor, up to the limit.",
    _LADDER,
)


@lab.exercise(4, points=2, right="A larger batch, fewer steps, and a rate to match.")
def exercise_4(trial: Trial, plan: Callable[..., Any]) -> None:
    """`plan(images, batch, base_batch=4, base_rate=0.001, limit=0.1)`: steps and rate."""
    draw = trial.random.randint
    bases: list[dict[str, Any]] = [{}, {"base_batch": 3, "base_rate": 0.002, "limit": 0.3}]
    bases += [{"base_batch": 8, "base_rate": 0.004}]
    for given in bases:
        base_batch, base = given.get("base_batch", 4), given.get("base_rate", 0.001)
        limit = given.get("limit", 0.1)
        for batch in (base_batch, draw(20, 39), 64, draw(2, 3), 4096, 512):
            for images in (batch * draw(3, 90), batch * draw(3, 90) + draw(1, batch - 1)):
                found = trial.call(plan, images, batch, **given)
                trial.expect_result(found)
                pair = isinstance(found, tuple | list) and len(found) == 2
                pair = pair and type(found[0]) is int and type(found[1]) in (int, float)
                trial.expect(pair, NOT_A_PAIR, what=repr(found)[:60])
                steps, rate = found
                told = {"images": images, "batch": batch, "found": steps}
                left = images - steps * batch
                trial.expect(left <= 0, LAST_BATCH_LOST, left=left, **told)
                trial.expect(left > -batch, STEP_TOO_MANY, **told)
                linear = base * batch / base_batch
                if math.isclose(rate, min(linear, limit), rel_tol=1e-6):
                    continue
                told = {"batch": batch, "found": rate, "base": base, "base_batch": base_batch}
                larger = batch > base_batch
                trial.expect(not (larger and rate == base), OLD_RATE, batch=batch, found=rate)
                trial.expect(not larger or rate > base, WRONG_WAY, **told)
                root = math.isclose(rate, min(base * (batch / base_batch) ** 0.5, limit))
                trial.expect(not root, ROOT_RULE, batch=batch, found=rate)
                above = larger and rate > limit
                trial.expect(not above, NO_LIMIT, batch=batch, found=rate, limit=limit)
                raise WRONG_RATE.of(**told)
