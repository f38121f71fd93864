"""Lab 05, exercise 2: the check of `seconds_of_parts`, and its hints."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from helpers.checks.core import Hint, Trial
from helpers.checks.lab_05.shared import STOPWATCH, lab
from helpers.checks.queues import Device, stands_for_the_gpu

_PARTS = "Where a step's time goes"

NOT_PARTS = Hint(
    "not-the-parts",
    "`seconds_of_parts` returns {what}; a dictionary with one number of seconds for each of "
    "{names} is asked for.",
    "The names of the parts are the keys of `parts`. Which value belongs to each?",
    _PARTS,
)

OUT_OF_TURN = Hint(
    "out-of-turn",
    "Your function calls {found} one after the other; a step is {names}, in this order.",
    "The backward pass needs the forward pass of the same step. Which of your loops is inside the "
    "other?",
    _PARTS,
)

STEPS_MISCOUNTED = Hint(
    "steps-miscounted",
    "For {steps} steps that count, and one before them, each part is called {expected} times; it "
    "was called {found} times.",
    "The first step is made and not counted. How many are made in all?",
    _PARTS,
)

WRONG_PART = Hint(
    "lands-in-another-part",
    "Your result has {found:.1f} ms for `{part}`. The device works {exact:.1f} ms on it.",
    "A part that only asks comes back at once, and its time lands in the part that waits. At the "
    "end of which parts do you have to wait?",
    _PARTS,
)

FIRST_COUNTED = Hint(
    "first-step-counted",
    "The very first step is in your mean, with all that happens only once: {found:.1f} ms for "
    "`{part}`, and {exact:.1f} ms without it.",
    "Make one step before you begin to add up.",
    STOPWATCH,
)

A_SUM = Hint(
    "sum-of-steps",
    "Your result for `{part}`, {found:.1f} ms, is the sum over all steps. A step takes "
    "{exact:.1f} ms for it.",
    "The mean a step is asked for. By what do you divide?",
    _PARTS,
)

WRONG_MEAN = Hint(
    "wrong-mean",
    "`{part}` takes {exact:.1f} ms in the mean of the steps, and your result has {found:.1f} ms.",
    "Does every step add to what you have for this part, and does it add the time of this part "
    "alone?",
    _PARTS,
)


@lab.exercise(2, points=3, right="Every part has its own time, and the bottleneck stands out.")
def exercise_2(trial: Trial, seconds_of_parts: Callable[..., Any]) -> None:
    """`seconds_of_parts(parts, device, steps)`: the mean time a step of each part."""
    names = ["data", "forward", "backward", "optimizer"]
    lengths = [1, *trial.random.sample([2, 3, 4], 3)]
    steps, calls = 3, []
    unit = 0.005

    def part(name: str, length: int) -> Callable[[], None]:
        def call() -> None:
            made = calls.count(name)
            calls.append(name)
            # The steps differ, so that one of them cannot stand for all.
            seconds = unit * length * (0.5, 0.5, 2)[(made - 1) % 3 if made else 0]
            if name == "forward" and not made:
                seconds = 60 * unit
            if name == "data":
                time.sleep(seconds)
            else:
                device.ask(seconds)

        return call

    parts = {name: part(name, length) for name, length in zip(names, lengths, strict=True)}
    exact = {name: unit * length for name, length in zip(names, lengths, strict=True)}
    with Device() as device, stands_for_the_gpu(device):
        found = trial.call(seconds_of_parts, parts, trial.device, steps)
        trial.expect_result(found)
        device.wait()
        took = device.took
    good = isinstance(found, dict) and sorted(found, key=str) == sorted(names)
    good = good and all(isinstance(v, int | float) for v in found.values())
    what = f"a dictionary of {list(found)}" if isinstance(found, dict) else type(found).__name__
    trial.expect(good, NOT_PARTS, what=what, names=", ".join(names))
    turns = calls == names * (len(calls) // 4)
    first = ", ".join(calls[:4])
    trial.expect(turns, OUT_OF_TURN, found=first, names=", ".join(names))
    made = len(calls) // 4
    trial.expect(made == steps + 1, STEPS_MISCOUNTED, steps=steps, expected=steps + 1, found=made)
    for place, name in enumerate(names[1:]):
        mine = took[place::3]
        exact[name] = sum(mine[1:]) / steps
    for name in ("forward", "backward", "optimizer", "data"):
        told = {"part": name, "found": 1000 * found[name], "exact": 1000 * exact[name]}
        if 0.7 * exact[name] <= found[name] <= 1.3 * exact[name] + 0.006:
            continue
        mine = took[names.index(name) - 1 :: 3] if name != "data" else [0]
        with_first = [sum(mine) / (steps + 1), sum(mine) / steps]
        early = name == "forward" and any(_near(found[name], each) for each in with_first)
        trial.expect(not early, FIRST_COUNTED, **told)
        trial.expect(not _near(found[name], sum(mine[1:])), A_SUM, **told)
        trial.expect(found[name] > 0.3 * exact[name], WRONG_PART, **told)
        raise WRONG_MEAN.of(**told)


def _near(found: float, seconds: float) -> bool:
    return 0.88 * seconds <= found <= 1.12 * seconds + 0.006
