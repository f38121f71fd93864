"""Lab 05, exercise 1: `seconds_per_call`."""

import math
import statistics
from typing import Any

import torch

from helpers.checks.clocks import Clock, simulated_clock
from helpers.checks.lab_05.shared import lab
from helpers.checks.queues import Device, no_gpu_to_synchronize, simulated_gpu
from helpers.checks.trial import Answer, Trial, describe, is_number, one_line

# Work is measured in units of simulated seconds.
_UNIT = 0.1


@lab.exercise(1, points=3, right="Your stopwatch waits, warms up, and reports the median.")
def exercise_1(trial: Trial, seconds_per_call: Answer) -> None:
    """`seconds_per_call(call, device, runs)`: the median time of a call."""
    # No constant is right for both.
    calls = _time(trial, seconds_per_call, 1, 3 * _UNIT)
    more_calls = _time(trial, seconds_per_call, 5, _UNIT)
    trial.expect(more_calls != calls, "runs-ignored", calls=calls)
    with trial.machine_with(0):
        found, error = trial.observe(_time_without_gpu, seconds_per_call)
    trial.expect(not error, "wants-a-gpu", error=error)
    _seconds(trial, found)


def _time_without_gpu(trial: Trial, seconds_per_call: Answer) -> tuple[Any, str]:
    """Return the result, and the error that was raised."""
    cpu, clock = torch.device("cpu"), Clock()
    with no_gpu_to_synchronize(), simulated_clock(clock, seconds_per_call):
        called = trial.try_call(seconds_per_call, lambda: clock.compute(0.003), cpu, 2)
    return called.value, "" if called.error is None else one_line(called.error)


def _seconds(trial: Trial, found: Any) -> float:
    trial.expect_result(found)
    good = is_number(found) and math.isfinite(found) and found >= 0
    trial.expect(good, "not-a-number", what=describe(found))
    return float(found)


def _time(trial: Trial, seconds_per_call: Answer, runs: int, unit: float) -> int:
    """Let the student time a device whose first call takes 6 units; return the number of calls."""
    result, took, sleeps = trial.observe(_run, seconds_per_call, runs, unit)
    calls = len(took)
    found = _seconds(trial, result)
    trial.expect(calls >= runs, "too-few-runs", runs=runs, calls=calls)
    trial.expect(not sleeps, "sleeps")
    # If there was only one call, it was the slow first one.
    exact = statistics.median(took[-runs:]) if calls > 1 else unit
    details = {"found": 1000 * found, "exact": 1000 * exact}
    if 0.7 * exact <= found <= 1.3 * exact:
        return calls
    trial.expect(found < 0.3 * 1000 * exact, "other-unit", found=found, exact=exact)
    trial.expect(found > 1e-5 * exact, "other-unit", found=found, exact=exact)
    # The shortest run is 0.2 units: less means that nobody waited.
    trial.expect(found > 0.1 * unit, "not-waited", **details)
    if runs == 1:
        trial.expect(not 4 * unit < found < 6.9 * unit, "no-warm-up", **details)
        trial.expect(not found >= 6.9 * unit, "starts-too-early", **details)
        raise trial.wrong("wrong-time", **details)
    shown = ", ".join(f"{1000 * seconds:.1f}" for seconds in took[-runs:])
    different = found < 0.6 * exact or found > 2.2 * exact
    trial.expect(not different, "not-the-median", runs=shown, found=1000 * found)
    raise trial.wrong("wrong-time", **details)


def _run(
    trial: Trial, seconds_per_call: Answer, runs: int, unit: float
) -> tuple[Any, list[float], bool]:
    """Return the result, the seconds of each call, and whether it slept instead of waiting.

    With one run, the device is still busy with 6 units of other work at the start.
    """
    # Of five calls in a row, one is unusually fast and one unusually slow, wherever they start.
    later = [1] if runs == 1 else [0.2, 1, 12, 1, 1]
    device = Device()
    if runs == 1:
        device.launch(6 * unit)
    before = len(device.took)

    def call() -> None:
        calls = len(device.took) - before
        device.launch(unit * (later[calls % len(later)] if calls else 6))

    with simulated_gpu(device), simulated_clock(device.clock, seconds_per_call):
        result = trial.call(seconds_per_call, call, trial.device, runs)
    # Sleeping between two looks at an event is one way to wait for it.
    return result, device.took[before:], device.clock.slept and not device.asked
