"""Lab 09, exercise 4: `plan`."""

import math

from helpers.checks.lab_09.shared import lab
from helpers.checks.trial import Answer, Trial, describe, is_number

# Bytes per parameter that each method shards.
_SHARDED = {"ddp": 0, "zero1": 12, "zero2": 14, "fsdp": 16}


@lab.exercise(4, points=3, right="You know what fits before you rent the GPUs.")
def exercise_4(trial: Trial, plan: Answer) -> None:
    """`plan(method, parameters, gpus)`: bytes of memory and bytes sent, for one GPU."""
    for gpus in (trial.random.choice([4, 8, 64]), 1):
        parameters = trial.random.randint(2, 90) * 64 * 10**6
        for method, sharded in _SHARDED.items():
            result = trial.result_of(plan, method, parameters, gpus)
            good = isinstance(result, tuple | list) and len(result) == 2
            good = good and all(map(is_number, result))
            trial.expect(good, "not-a-pair", found=describe(result))
            details = {"method": method, "parameters": f"{parameters:,}", "gpus": gpus}
            memory = parameters * (16 - sharded + sharded / gpus)
            _check_memory(trial, method, result[0], memory, parameters, details)
            passes = 3 if method == "fsdp" else 2
            sent = passes * 2 * parameters * (gpus - 1) / gpus
            _check_sent(trial, result[1], sent, gpus, passes, details)


def _check_memory(
    trial: Trial, method: str, found: float, exact: float, parameters: int, details: dict
) -> None:
    if _near(found, exact):
        return
    gpus = details["gpus"]
    details = details | {"found": f"{found:,.0f}", "exact": f"{exact:,.0f}"}
    trial.expect(not _near(found, exact * gpus), "all-gpus", **details)
    trial.expect(not _near(found * 1e9, exact), "other-unit", **details)
    everything = _near(found, 16 * parameters / gpus)
    trial.expect(not everything, "all-sharded", **details)
    nothing = _near(found, 16 * parameters)
    trial.expect(not nothing, "nothing-sharded", **details)
    raise trial.wrong("wrong-memory", **details)


def _check_sent(
    trial: Trial, found: float, exact: float, gpus: int, passes: int, details: dict
) -> None:
    if _near(found, exact):
        return
    details = details | {"found": f"{found:,.0f}", "exact": f"{exact:,.0f}"}
    trial.expect(gpus > 1, "sends-alone", **details)
    trial.expect(not _near(found, exact * gpus / (gpus - 1)), "large-n", **details)
    trial.expect(not _near(found, exact / passes), "one-pass", **details)
    trial.expect(not _near(found, exact / 3 * 2), "fsdp-as-ddp", **details)
    raise trial.wrong("wrong-bytes", **details)


def _near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-3)
