"""Lab 05, exercise 2: `seconds_per_part`."""

from collections.abc import Callable
from typing import Any

from helpers.checks.clocks import simulated_clock
from helpers.checks.lab_05.shared import lab
from helpers.checks.queues import AsyncDevice, simulated_gpu
from helpers.checks.trial import Answer, Trial
from helpers.language import translate

_UNIT = 0.02  # simulated seconds


@lab.exercise(
    2, points=3, success_message="Every part has its own time, and the bottleneck is visible."
)
def exercise_2(trial: Trial, seconds_per_part: Answer) -> None:
    """`seconds_per_part(parts, device, steps)`: the mean time per step of each part."""
    names = ["data", "forward", "backward", "optimizer"]
    lengths = [1, *trial.random.sample([2, 3, 4], 3)]
    steps = 3
    exact = {name: _UNIT * length for name, length in zip(names, lengths, strict=True)}
    result, calls, durations = trial.observe(_run, seconds_per_part, exact, steps)
    right_parts = isinstance(result, dict) and sorted(result, key=str) == sorted(names)
    right_parts = right_parts and all(isinstance(v, int | float) for v in result.values())
    what = type(result).__name__
    if isinstance(result, dict):
        what = translate("a dictionary of {keys}", keys=list(result))
    trial.expect(right_parts, "not-the-parts", what=what, names=", ".join(names))
    in_order = calls == names * (len(calls) // 4)
    first_calls = ", ".join(calls[:4])
    trial.expect(in_order, "wrong-order", found=first_calls, names=", ".join(names))
    step_count = len(calls) // 4
    trial.expect(
        step_count == steps + 1,
        "steps-miscounted",
        steps=steps,
        expected=steps + 1,
        found=step_count,
    )
    for position, name in enumerate(names[1:]):
        part_durations = durations[position::3]
        exact[name] = sum(part_durations[1:]) / steps
    for name in ("forward", "backward", "optimizer", "data"):
        details = {"part": name, "found": 1000 * result[name], "exact": 1000 * exact[name]}
        if _near(result[name], exact[name]):
            continue
        part_durations = durations[names.index(name) - 1 :: 3] if name != "data" else [0]
        with_first = [sum(part_durations) / (steps + 1), sum(part_durations) / steps]
        first_counted = name == "forward" and any(_near(result[name], mean) for mean in with_first)
        trial.expect(not first_counted, "first-step-counted", **details)
        trial.expect(not _near(result[name], sum(part_durations[1:])), "sum-of-steps", **details)
        trial.expect(result[name] > 0.3 * exact[name], "counted-in-another-part", **details)
        raise trial.wrong("wrong-mean", **details)


def _run(
    trial: Trial, seconds_per_part: Answer, lengths: dict[str, float], steps: int
) -> tuple[Any, list[str], list[float]]:
    """Return the result, the parts in the order of their calls, and the seconds on the device."""
    calls: list[str] = []
    device = AsyncDevice()

    def part(name: str, length: float) -> Callable[[], None]:
        def call() -> None:
            calls_before = calls.count(name)
            calls.append(name)
            # The steps differ, so that no single step gives the mean.
            seconds = length * (0.5, 0.5, 2)[(calls_before - 1) % 3 if calls_before else 0]
            if name == "forward" and not calls_before:
                seconds = 60 * _UNIT
            if name == "data":
                device.clock.compute(seconds)
            else:
                device.launch(seconds)

        return call

    parts = {name: part(name, length) for name, length in lengths.items()}
    with simulated_gpu(device), simulated_clock(device.clock, seconds_per_part):
        result = trial.result_of(seconds_per_part, parts, trial.device, steps)
    return result, calls, device.durations


def _near(result: float, seconds: float) -> bool:
    return 0.88 * seconds <= result <= 1.12 * seconds
