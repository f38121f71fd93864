"""Lab 05, exercise 1: `seconds_a_call`."""

import math
import statistics
from typing import Any

import torch

from helpers.checks.hints import NotRight
from helpers.checks.lab_05.shared import lab
from helpers.checks.queues import Device, nothing_to_wait_for, stands_for_the_gpu
from helpers.checks.trial import Answer, Trial, described, is_number

# Work is measured in units, long enough for a busy machine to wake a thread in time.
_UNIT = 0.012


@lab.exercise(1, points=3, right="Your stopwatch waits, warms up, and is not fooled by one run.")
def exercise_1(trial: Trial, seconds_a_call: Answer) -> None:
    """`seconds_a_call(call, device, runs)`: the median time of a call, honestly."""
    for runs in (1, 5):
        try:
            _time_with(trial, seconds_a_call, runs, _UNIT)
        except NotRight as wrong:
            if wrong.hint.id not in ("wrong-time", "not-the-median"):
                raise
            # Perhaps the machine was busy: once more, with work so long that it hardly matters.
            _time_with(trial, seconds_a_call, runs, 3 * _UNIT)
    cpu = torch.device("cpu")
    with trial.machine_with(0), nothing_to_wait_for(), Device() as device:
        called = trial.try_call(seconds_a_call, lambda: device.spend(0.003), cpu, 2)
        if called.error is not None:
            raise trial.wrong("wants-a-gpu", error=str(called.error).splitlines()[0])
        _seconds(trial, called.value)


def _seconds(trial: Trial, found: Any) -> float:
    trial.expect_result(found)
    plain = is_number(found)
    what = described(found)
    trial.expect(plain and math.isfinite(found) and found >= 0, "not-a-number", what=what)
    return float(found)


def _time_with(trial: Trial, seconds_a_call: Answer, runs: int, unit: float) -> None:
    """One try on a device whose first call takes 6 units, as long as the work that it still has."""
    # Of five calls in a row one is lucky and one meets a hiccup, wherever the five begin.
    later = [1] if runs == 1 else [0.2, 1, 12, 1, 1]
    calls = 0

    def call() -> None:
        nonlocal calls
        device.ask(unit * (later[calls % len(later)] if calls else 6))
        calls += 1

    with Device() as device, stands_for_the_gpu(device):
        if runs == 1:
            device.ask(6 * unit)
        before = 1 if runs == 1 else 0
        result = trial.call(seconds_a_call, call, trial.device, runs)
        device.wait()
        took = device.took[before:]
    found = _seconds(trial, result)
    trial.expect(calls >= runs, "too-few-runs", runs=runs, calls=calls)
    # Where there was one call only, what it should have taken is not to be seen.
    exact = statistics.median(took[-runs:]) if calls > 1 else unit
    told = {"found": 1000 * found, "exact": 1000 * exact}
    if 0.7 * exact <= found <= 1.3 * exact + 0.6 * _UNIT:
        return
    trial.expect(found < 0.3 * 1000 * exact, "other-unit", found=found, exact=exact)
    trial.expect(found > 1e-5 * exact, "other-unit", found=found, exact=exact)
    # The shortest run, taken for the median, has been waited for all the same.
    trial.expect(found > 0.1 * unit, "not-waited", **told)
    if runs == 1:
        trial.expect(not 4 * unit < found < 6.9 * unit, "no-warm-up", **told)
        trial.expect(not found >= 6.9 * unit, "starts-too-early", **told)
        raise trial.wrong("wrong-time", **told)
    shown = ", ".join(f"{1000 * seconds:.1f}" for seconds in took[-runs:])
    different = found < 0.6 * exact or found > 2.2 * exact
    trial.expect(not different, "not-the-median", runs=shown, found=1000 * found)
    raise trial.wrong("wrong-time", **told)
