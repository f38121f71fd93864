"""Lab 09, exercise 4: `plan`."""

import math

from helpers.checks.descriptions import describe, is_number
from helpers.checks.lab_09.shared import lab
from helpers.checks.trial import Answer, Trial

# Bytes per parameter that each method shards.
_SHARDED = {"ddp": 0, "zero1": 12, "zero2": 14, "fsdp": 16}


@lab.exercise(4, points=3, success_message="You know what fits before you rent the GPUs.")
def exercise_4(trial: Trial, plan: Answer) -> None:
    """`plan(method, parameters, gpus)`: bytes of memory and bytes sent, for one GPU."""
    for gpus in (trial.random.choice([4, 8, 64]), 1):
        parameters = trial.random.randint(2, 90) * 64 * 10**6
        for method, sharded in _SHARDED.items():
            result = trial.result_of(plan, method, parameters, gpus)
            is_pair = isinstance(result, tuple | list) and len(result) == 2
            is_pair = is_pair and all(map(is_number, result))
            trial.expect(is_pair, "not-a-pair", found=describe(result))
            details = {"method": method, "parameters": f"{parameters:,}", "gpus": gpus}
            memory = parameters * (16 - sharded + sharded / gpus)
            _check_memory(trial, method, result[0], memory, parameters, details)
            passes = 3 if method == "fsdp" else 2
            sent_bytes = passes * 2 * parameters * (gpus - 1) / gpus
            _check_sent(trial, result[1], sent_bytes, gpus, passes, details)


def _check_memory(
    trial: Trial, method: str, result: float, exact: float, parameters: int, details: dict
) -> None:
    if _near(result, exact):
        return
    gpus = details["gpus"]
    details = details | {"found": f"{result:,.0f}", "exact": f"{exact:,.0f}"}
    trial.expect(not _near(result, exact * gpus), "sum-over-gpus", **details)
    trial.expect(not _near(result * 1e9, exact), "different-unit", **details)
    all_sharded = _near(result, 16 * parameters / gpus)
    trial.expect(not all_sharded, "all-sharded", **details)
    none_sharded = _near(result, 16 * parameters)
    trial.expect(not none_sharded, "nothing-sharded", **details)
    raise trial.wrong("wrong-memory", **details)


def _check_sent(
    trial: Trial, result: float, exact: float, gpus: int, passes: int, details: dict
) -> None:
    if _near(result, exact):
        return
    details = details | {"found": f"{result:,.0f}", "exact": f"{exact:,.0f}"}
    trial.expect(gpus > 1, "single-gpu-sends", **details)
    trial.expect(not _near(result, exact * gpus / (gpus - 1)), "large-n", **details)
    trial.expect(not _near(result, exact / passes), "single-pass", **details)
    trial.expect(not _near(result, exact / 3 * 2), "fsdp-as-ddp", **details)
    raise trial.wrong("wrong-bytes", **details)


def _near(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-3)
