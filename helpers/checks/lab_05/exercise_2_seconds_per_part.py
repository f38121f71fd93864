"""Lab 05, exercise 2: the mean time per step of each part."""

import torch

from helpers.checks.lab_05.simulated_queue import Queue, simulated
from helpers.checks.plain import is_close

answers = "seconds_per_part(parts, device, steps)"
points = 3
success = "Every part has its own time, and the bottleneck is visible."
section = "Where a step's time goes"

UNIT = 0.02  # simulated seconds
NAMES = ["data", "forward", "backward", "optimizer"]
STEPS = 3


def cases(draw):
    lengths = dict(zip(NAMES, [1, *draw.sample([2, 3, 4], 3)], strict=True))
    yield {"lengths": lengths, "device": draw.device, "names": ", ".join(NAMES), "steps": STEPS}


def collect(call, case, seconds_per_part):
    queue, calls = Queue(), []

    def make(name):
        def part():
            # The steps differ, so that no single step gives the mean; the first is very slow.
            step = calls.count(name)
            seconds = UNIT * case.lengths[name] * (0.5, 0.5, 2)[(step - 1) % 3 if step else 0]
            calls.append(name)
            if name == "data":
                queue.compute(seconds)
            else:
                queue.launch(60 * UNIT if name == "forward" and not step else seconds)

        return part

    with simulated(queue, seconds_per_part):
        parts = {name: make(name) for name in case.lengths}
        facts = call(seconds_per_part, parts, torch.device(case.device), STEPS)
    return facts.add(order=calls)


def exact(f, name):
    return 1000 * UNIT * f.case.lengths[name]


def each(f, is_wrong):
    """Return the values of the hint for the first part whose time is wrong."""
    for part in (*NAMES[1:], "data"):
        found, expected = 1000 * f.value[part], exact(f, part)
        if not is_close(found, expected, 0.12, 0) and is_wrong(part, found, expected):
            return {"part": part, "found": found, "exact": expected}
    return None


def is_first_step(part, found, expected):
    return part == "forward" and found > 60 * 1000 * UNIT / (STEPS + 1)


def has_parts(value, case):
    return isinstance(value, dict) and sorted(map(str, value)) == sorted(NAMES)


returns = ("not-the-parts", has_parts)
side_effects = {
    "wrong-order": lambda f: (
        f.order != NAMES * (len(f.order) // 4) and {"found": ", ".join(f.order[:4])}
    ),
    "steps-miscounted": lambda f: (
        len(f.order) // 4 != STEPS + 1 and {"expected": STEPS + 1, "found": len(f.order) // 4}
    ),
    "first-step-counted": lambda f: each(f, is_first_step),
    "sum-of-steps": lambda f: each(
        f, lambda part, found, expected: is_close(found, STEPS * expected, 0.12, 0)
    ),
    "counted-in-another-part": lambda f: each(
        f, lambda part, found, expected: found <= 0.3 * expected
    ),
    "wrong-mean": lambda f: each(f, lambda part, found, expected: True),
}
hints = """
not-the-parts: `seconds_per_part` returns {what}, but it should return a dictionary with a number of
    seconds for each of {names}.
    -> Its keys are the keys of `parts`. Which value belongs to each of them?
wrong-order: Your function calls {found} in this order, but a step is {names}.
    -> The backward pass needs the forward pass of the same step. Which of your loops is inside the
    other?
steps-miscounted: For one step that does not count and {steps} that do, each part should be called
    {expected} times; it was called {found} times.
    -> The first step runs but is not counted. How many steps run in total?
counted-in-another-part: Your result for `{part}` is {found:.1f} ms, but the device works on it for
    {exact:.1f} ms.
    -> A part that only launches work returns at once, and its time is then counted for the next
    part that waits. After which parts do you have to wait?
first-step-counted: Your mean includes the very first step, with everything that happens only once:
    {found:.1f} ms for `{part}` instead of {exact:.1f} ms.
    -> Run one step before you start adding up.
    see: A stopwatch that lies
sum-of-steps: Your result for `{part}`, {found:.1f} ms, is the sum over all steps. The mean is
    {exact:.1f} ms per step.
    -> What do you have to divide the sum by?
wrong-mean: `{part}` takes {exact:.1f} ms per step on average, but your result is {found:.1f} ms.
    -> Does every step add to the total of this part, and only the time of this part?
"""
