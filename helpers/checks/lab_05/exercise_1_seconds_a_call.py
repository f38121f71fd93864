"""Lab 05, exercise 1: `seconds_a_call`."""

import math
import statistics
import time
from typing import Any
from unittest.mock import Mock, patch

import torch

from helpers.checks.hints import NotRight
from helpers.checks.lab_05.shared import lab
from helpers.checks.queues import Device, nothing_to_wait_for, replaces_the_gpu
from helpers.checks.trial import Answer, Trial, described, is_number, one_line

# Work is measured in units, in seconds, long enough for a busy machine to wake a thread in time.
_UNIT = 0.01


@lab.exercise(1, points=3, right="Your stopwatch waits, warms up, and reports the median.")
def exercise_1(trial: Trial, seconds_a_call: Answer) -> None:
    """`seconds_a_call(call, device, runs)`: the median time of a call."""
    # No constant is right for both, neither at the first attempt nor at the second.
    found, calls = _time(trial, seconds_a_call, 1, 3 * _UNIT, 9 * _UNIT)
    longer_unit = 10 * _UNIT if found < 6 * _UNIT else 4 * _UNIT
    _, more_calls = _time(trial, seconds_a_call, 5, _UNIT, longer_unit)
    trial.expect(more_calls != calls, "runs-ignored", calls=calls)
    cpu = torch.device("cpu")
    with trial.machine_with(0), nothing_to_wait_for(), Device() as device:
        called = trial.try_call(seconds_a_call, lambda: device.spend(0.003), cpu, 2)
        if called.error is not None:
            raise trial.wrong("wants-a-gpu", error=one_line(called.error))
        _seconds(trial, called.value)


def _seconds(trial: Trial, found: Any) -> float:
    trial.expect_result(found)
    good = is_number(found) and math.isfinite(found) and found >= 0
    trial.expect(good, "not-a-number", what=described(found))
    return float(found)


def _time(
    trial: Trial, seconds_a_call: Answer, runs: int, unit: float, longer_unit: float
) -> tuple[float, int]:
    try:
        return _time_with(trial, seconds_a_call, runs, unit)
    except NotRight as wrong:
        if wrong.hint.id not in ("wrong-time", "not-the-median"):
            raise
        # The machine may have been busy: try again with work so long that it hardly matters.
        return _time_with(trial, seconds_a_call, runs, longer_unit)


def _time_with(trial: Trial, seconds_a_call: Answer, runs: int, unit: float) -> tuple[float, int]:
    """Let the student time a device whose first call takes 6 units.

    Returns the result in seconds and the number of calls.

    With one run, the device is still busy with 6 units of other work at the start.
    """
    # Of five calls in a row, one is unusually fast and one unusually slow, wherever they start.
    later = [1] if runs == 1 else [0.2, 1, 12, 1, 1]
    started: list[float] = []

    def call() -> None:
        calls = len(started)
        started.append(time.perf_counter())
        device.launch(unit * (later[calls % len(later)] if calls else 6))

    sleeps = Mock(side_effect=time.sleep)
    with Device() as device, replaces_the_gpu(device), patch.object(time, "sleep", sleeps):
        if runs == 1:
            device.launch(6 * unit)
        before = 1 if runs == 1 else 0
        result = trial.call(seconds_a_call, call, trial.device, runs)
        calls, elapsed = len(started), _elapsed_times(started[-runs - 1 :], device.returns)
        device.wait()
        took = device.took[before:]
    found = _seconds(trial, result)
    trial.expect(calls >= runs, "too-few-runs", runs=runs, calls=calls)
    # Sleeping between two looks at an event is one way to wait for it.
    trial.expect(not sleeps.called or device.asked, "sleeps")
    # If there was only one call, it was the slow first one.
    exact = statistics.median(took[-runs:]) if calls > 1 else unit
    details = {"found": 1000 * found, "exact": 1000 * exact}
    # On a busy machine, a thread that waits for the device continues later than the device is done.
    longest = max(exact, statistics.median(elapsed)) if elapsed else exact
    if 0.7 * exact <= found <= 1.3 * longest + 0.7 * _UNIT:
        return found, calls
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


def _elapsed_times(started: list[float], returns: list[float]) -> list[float]:
    """Return the seconds from each call but the first to the end of the wait that follows it.

    The list is empty unless every call was waited for before the next one.
    """
    ends = [*started[1:], math.inf]
    waits = [
        [end for end in returns if begin <= end < next_begin]
        for begin, next_begin in zip(started, ends, strict=True)
    ]
    if not all(waits):
        return []
    return [found[0] - begin for found, begin in zip(waits[1:], started[1:], strict=True)]
