"""Lab 05, exercise 1: `seconds_per_call`."""

import math
import statistics
from typing import Any

import torch

from helpers.checks.clocks import Clock, simulated_clock
from helpers.checks.descriptions import describe, is_number, one_line
from helpers.checks.lab_05.shared import lab
from helpers.checks.queues import AsyncDevice, no_gpu_to_synchronize, simulated_gpu
from helpers.checks.trial import Answer, Trial

# Work is measured in units of simulated seconds.
_UNIT = 0.1


@lab.exercise(
    1, points=3, success_message="Your stopwatch waits, warms up, and reports the median."
)
def exercise_1(trial: Trial, seconds_per_call: Answer) -> None:
    """`seconds_per_call(call, device, runs)`: the median time of a call."""
    # Two settings, so that returning a constant fails.
    calls = _count_calls(trial, seconds_per_call, 1, 3 * _UNIT)
    more_calls = _count_calls(trial, seconds_per_call, 5, _UNIT)
    trial.expect(more_calls != calls, "runs-ignored", calls=calls)
    with trial.machine_with(0):
        result, error = trial.observe(_time_without_gpu, seconds_per_call)
    trial.expect(not error, "needs-a-gpu", error=error)
    _expect_seconds(trial, result)


def _time_without_gpu(trial: Trial, seconds_per_call: Answer) -> tuple[Any, str]:
    """Return the result, and the error that was raised."""
    cpu, clock = torch.device("cpu"), Clock()
    with no_gpu_to_synchronize(), simulated_clock(clock, seconds_per_call):
        outcome = trial.try_call(seconds_per_call, lambda: clock.compute(0.003), cpu, 2)
    return outcome.value, "" if outcome.error is None else one_line(outcome.error)


def _expect_seconds(trial: Trial, result: Any) -> float:
    trial.expect_result(result)
    is_time = is_number(result) and math.isfinite(result) and result >= 0
    trial.expect(is_time, "not-a-number", what=describe(result))
    return float(result)


def _count_calls(trial: Trial, seconds_per_call: Answer, runs: int, unit: float) -> int:
    """Let the student time a device whose first call takes 6 units; return the number of calls."""
    result, durations, sleeps = trial.observe(_run, seconds_per_call, runs, unit)
    calls = len(durations)
    seconds_per_run = _expect_seconds(trial, result)
    trial.expect(calls >= runs, "too-few-runs", runs=runs, calls=calls)
    trial.expect(not sleeps, "sleeps")
    # If there was only one call, it was the slow first one.
    exact = statistics.median(durations[-runs:]) if calls > 1 else unit
    details = {"found": 1000 * seconds_per_run, "exact": 1000 * exact}
    if 0.7 * exact <= seconds_per_run <= 1.3 * exact:
        return calls
    trial.expect(
        seconds_per_run < 0.3 * 1000 * exact, "different-unit", found=seconds_per_run, exact=exact
    )
    trial.expect(
        seconds_per_run > 1e-5 * exact, "different-unit", found=seconds_per_run, exact=exact
    )
    # The shortest run takes 0.2 units: a smaller result means that the code did not wait.
    trial.expect(seconds_per_run > 0.1 * unit, "not-waited", **details)
    if runs == 1:
        trial.expect(not 4 * unit < seconds_per_run < 6.9 * unit, "no-warm-up", **details)
        trial.expect(not seconds_per_run >= 6.9 * unit, "starts-too-early", **details)
        raise trial.wrong("wrong-time", **details)
    durations_text = ", ".join(f"{1000 * seconds:.1f}" for seconds in durations[-runs:])
    not_median = seconds_per_run < 0.6 * exact or seconds_per_run > 2.2 * exact
    trial.expect(
        not not_median, "not-the-median", runs=durations_text, found=1000 * seconds_per_run
    )
    raise trial.wrong("wrong-time", **details)


def _run(
    trial: Trial, seconds_per_call: Answer, runs: int, unit: float
) -> tuple[Any, list[float], bool]:
    """Return the result, the seconds of each call, and whether it slept instead of waiting.

    With one run, the device is still busy with 6 units of other work at the start.
    """
    # Any five consecutive calls include one unusually fast call and one unusually slow call. After
    # one call that is not timed, the slow one is the third of five.
    later = [1] if runs == 1 else [0.2, 1, 1, 12, 1]
    device = AsyncDevice()
    if runs == 1:
        device.launch(6 * unit)
    before = len(device.durations)

    def call() -> None:
        calls = len(device.durations) - before
        device.launch(unit * (later[calls % len(later)] if calls else 6))

    with simulated_gpu(device), simulated_clock(device.clock, seconds_per_call):
        result = trial.call(seconds_per_call, call, trial.device, runs)
    # Sleeping between two queries of an event is a valid way to wait.
    return result, device.durations[before:], device.clock.slept and not device.was_queried
