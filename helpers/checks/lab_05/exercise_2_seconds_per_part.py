"""Lab 05, exercise 2: `seconds_per_part`."""

from collections.abc import Callable
from typing import Any

from helpers.checks.clocks import simulated_clock
from helpers.checks.lab_05.shared import lab
from helpers.checks.queues import Device, simulated_gpu
from helpers.checks.trial import Answer, Trial
from helpers.language import translate

_UNIT = 0.02  # simulated seconds


@lab.exercise(2, points=3, right="Every part has its own time, and the bottleneck is visible.")
def exercise_2(trial: Trial, seconds_per_part: Answer) -> None:
    """`seconds_per_part(parts, device, steps)`: the mean time per step of each part."""
    names = ["data", "forward", "backward", "optimizer"]
    lengths = [1, *trial.random.sample([2, 3, 4], 3)]
    steps = 3
    exact = {name: _UNIT * length for name, length in zip(names, lengths, strict=True)}
    found, calls, took = trial.observe(_run, seconds_per_part, exact, steps)
    good = isinstance(found, dict) and sorted(found, key=str) == sorted(names)
    good = good and all(isinstance(v, int | float) for v in found.values())
    what = type(found).__name__
    if isinstance(found, dict):
        what = translate("a dictionary of {keys}", keys=list(found))
    trial.expect(good, "not-the-parts", what=what, names=", ".join(names))
    turns = calls == names * (len(calls) // 4)
    first = ", ".join(calls[:4])
    trial.expect(turns, "out-of-turn", found=first, names=", ".join(names))
    made = len(calls) // 4
    trial.expect(made == steps + 1, "steps-miscounted", steps=steps, expected=steps + 1, found=made)
    for place, name in enumerate(names[1:]):
        mine = took[place::3]
        exact[name] = sum(mine[1:]) / steps
    for name in ("forward", "backward", "optimizer", "data"):
        details = {"part": name, "found": 1000 * found[name], "exact": 1000 * exact[name]}
        if 0.7 * exact[name] <= found[name] <= 1.3 * exact[name]:
            continue
        mine = took[names.index(name) - 1 :: 3] if name != "data" else [0]
        with_first = [sum(mine) / (steps + 1), sum(mine) / steps]
        early = name == "forward" and any(_near(found[name], each) for each in with_first)
        trial.expect(not early, "first-step-counted", **details)
        trial.expect(not _near(found[name], sum(mine[1:])), "sum-of-steps", **details)
        trial.expect(found[name] > 0.3 * exact[name], "lands-in-another-part", **details)
        raise trial.wrong("wrong-mean", **details)


def _run(
    trial: Trial, seconds_per_part: Answer, lengths: dict[str, float], steps: int
) -> tuple[Any, list[str], list[float]]:
    """Return the result, the parts in the order of their calls, and the seconds on the device."""
    calls: list[str] = []
    device = Device()

    def part(name: str, length: float) -> Callable[[], None]:
        def call() -> None:
            made = calls.count(name)
            calls.append(name)
            # The steps differ, so that no single step gives the mean.
            seconds = length * (0.5, 0.5, 2)[(made - 1) % 3 if made else 0]
            if name == "forward" and not made:
                seconds = 60 * _UNIT
            if name == "data":
                device.clock.compute(seconds)
            else:
                device.launch(seconds)

        return call

    parts = {name: part(name, length) for name, length in lengths.items()}
    with simulated_gpu(device), simulated_clock(device.clock, seconds_per_part):
        found = trial.result_of(seconds_per_part, parts, trial.device, steps)
    return found, calls, device.took


def _near(found: float, seconds: float) -> bool:
    return 0.88 * seconds <= found <= 1.12 * seconds
