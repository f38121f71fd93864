"""Lab 05, exercise 1: the check of `seconds_a_call`, and its hints."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

import torch

from helpers.checks.core import Hint, NotRight, Trial
from helpers.checks.lab_05.shared import STOPWATCH, lab
from helpers.checks.queues import Device, nothing_to_wait_for, stands_for_the_gpu

NOT_SECONDS = Hint(
    "not-a-number",
    "`seconds_a_call` returns {what}; a number of seconds is asked for.",
    "The function returns one plain number, in seconds.",
    STOPWATCH,
)

TOO_FEW = Hint(
    "too-few-runs",
    "You were asked for {runs} runs, and `call` was called {calls} times in all.",
    "One call for each time that is noted, and one before them all. What does your loop go over?",
    STOPWATCH,
)

NOT_WAITED = Hint(
    "not-waited",
    "Your result is {found:.1f} ms. The device works {exact:.1f} ms on each call, and `call` comes "
    "back before it is done.",
    "You see how long the asking takes. What has to happen between the call and the second look "
    "at the clock?",
    STOPWATCH,
)

EARLY_START = Hint(
    "starts-too-early",
    "Your result is {found:.1f} ms, and a call takes {exact:.1f} ms. The device still had other "
    "work to do when your clock started.",
    "What may lie in the queue when you read the clock for the first time? What empties it?",
    STOPWATCH,
)

NO_WARM_UP = Hint(
    "no-warm-up",
    "Your result is {found:.1f} ms, the time of the very first call. Those that follow take "
    "{exact:.1f} ms.",
    "The first call pays for what happens once. Where does it go in your function?",
    STOPWATCH,
)

NOT_MEDIAN = Hint(
    "not-the-median",
    "The runs took {runs} ms; `seconds_a_call` returns {found:.1f} ms, which is not their median.",
    "One run in which the machine had something else to do should change nothing, and neither "
    "should one that was lucky. Each run needs a time of its own.",
    STOPWATCH,
)

OTHER_UNIT = Hint(
    "other-unit",
    "`seconds_a_call` returns {found:.4g} for a call of {exact:.4f} seconds.",
    "Which unit does your clock count in, and which one is asked for?",
    STOPWATCH,
)

WRONG_TIME = Hint(
    "wrong-time",
    "`seconds_a_call` returns {found:.1f} ms for a call of {exact:.1f} ms.",
    "What lies between the two looks at the clock, besides one call and the waiting?",
    STOPWATCH,
)

NO_GPU_HERE = Hint(
    "wants-a-gpu",
    "For the device `cpu`, on a machine without a GPU, `seconds_a_call` stops: {error}.",
    "On a CPU a call is done when it comes back. When is there something to wait for?",
    STOPWATCH,
)

# Work is measured in units, long enough for a busy machine to wake a thread in time.
_UNIT = 0.012


@lab.exercise(1, points=3, right="Your stopwatch waits, warms up, and is not fooled by one run.")
def exercise_1(trial: Trial, seconds_a_call: Callable[..., Any]) -> None:
    """`seconds_a_call(call, device, runs)`: the median time of a call, honestly."""
    for runs in (1, 5):
        try:
            _time_with(trial, seconds_a_call, runs, _UNIT)
        except NotRight as wrong:
            if wrong.hint not in (WRONG_TIME, NOT_MEDIAN):
                raise
            # Perhaps the machine was busy: once more, with work so long that it hardly matters.
            _time_with(trial, seconds_a_call, runs, 3 * _UNIT)
    cpu = torch.device("cpu")
    with trial.machine_with(0), nothing_to_wait_for(), Device() as device:
        outcome = trial.outcome(seconds_a_call, lambda: device.spend(0.003), cpu, 2)
        if outcome.error is not None:
            raise NO_GPU_HERE.of(error=str(outcome.error).splitlines()[0])
        _seconds(trial, outcome.value)


def _seconds(trial: Trial, found: Any) -> float:
    trial.expect_result(found)
    plain = isinstance(found, int | float) and not isinstance(found, bool)
    what = f"a {type(found).__name__}"
    trial.expect(plain and math.isfinite(found) and found >= 0, NOT_SECONDS, what=what)
    return float(found)


def _time_with(trial: Trial, seconds_a_call: Callable[..., Any], runs: int, unit: float) -> None:
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
    trial.expect(calls >= runs, TOO_FEW, runs=runs, calls=calls)
    # Where there was one call only, what it should have taken is not to be seen.
    exact = statistics.median(took[-runs:]) if calls > 1 else unit
    told = {"found": 1000 * found, "exact": 1000 * exact}
    if 0.7 * exact <= found <= 1.3 * exact + 0.6 * _UNIT:
        return
    trial.expect(found < 0.3 * 1000 * exact, OTHER_UNIT, found=found, exact=exact)
    trial.expect(found > 1e-5 * exact, OTHER_UNIT, found=found, exact=exact)
    # The shortest run, taken for the median, has been waited for all the same.
    trial.expect(found > 0.1 * unit, NOT_WAITED, **told)
    if runs == 1:
        trial.expect(not 4 * unit < found < 6.9 * unit, NO_WARM_UP, **told)
        trial.expect(not found >= 6.9 * unit, EARLY_START, **told)
        raise WRONG_TIME.of(**told)
    shown = ", ".join(f"{1000 * seconds:.1f}" for seconds in took[-runs:])
    different = found < 0.6 * exact or found > 2.2 * exact
    trial.expect(not different, NOT_MEDIAN, runs=shown, found=1000 * found)
    raise WRONG_TIME.of(**told)
