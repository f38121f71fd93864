"""Lab 05, exercise 2: the mean time per step of each part."""

from functools import partial
from operator import attrgetter

import torch

from helpers.checks.lab_05.simulated_queue import Queue, simulated
from helpers.checks.plain import first, is_close

answers = "seconds_per_part(parts, device, steps)"
points = 3
success = "Every part has its own time, and the bottleneck is visible."
section = "Where a step's time goes"
tolerance = 0.12
NAMES = ["data", "forward", "backward", "optimizer"]


def cases(draw):
    seconds = [0.02, *draw.sample([0.04, 0.06, 0.08], 3)]
    case = {"seconds": dict(zip(NAMES, seconds, strict=True)), "names": ", ".join(NAMES)}
    yield {**case, "device": draw.device, "steps": 3, "expected": 4}


def collect(call, case, seconds_per_part):
    queue, calls = Queue(), []

    def run(name):
        work = queue.compute if name == "data" else queue.launch
        # The first step is slow, and no single step gives the mean of the others.
        work(case.seconds[name] * (5, 0.5, 0.5, 2)[calls.count(name) % 4])
        calls.append(name)

    with simulated(queue, seconds_per_part):
        parts = {name: partial(run, name) for name in NAMES}
        facts = call(seconds_per_part, parts, torch.device(case.device), case.steps)
    return facts.add(order=calls)


def wrong_part(f):
    rows = ((part, 1000 * f.value[part], 1000 * exact) for part, exact in f.right.items())
    wrong = first(not is_close(*row[1:], tolerance, 0) and row for row in rows)
    return dict(zip(("part", "found", "exact"), wrong, strict=True))


right = attrgetter("seconds")
returns = ("not-the-parts", lambda value, case: isinstance(value, dict) and {*value} == {*NAMES})
side_effects = {
    "wrong-order": lambda f: (
        f.order != NAMES * (len(f.order) // 4) and {"found": ", ".join(f.order[:4])}
    ),
    "steps-miscounted": lambda f: len(f.order) != 16 and {"found": len(f.order) // 4},
}
mistakes = {
    "counted-in-another-part": lambda f: (w := wrong_part(f))["found"] < 0.3 * w["exact"] and w,
    "wrong-mean": wrong_part,
}
hints = """
not-the-parts: `seconds_per_part` returns {what} instead of a dictionary of seconds for {names}.
    -> Its keys are the keys of `parts`. Which value belongs to each of them?
wrong-order: Your function calls {found} in this order, but a step is {names}.
    -> The backward pass needs the forward pass of its step. Which loop is inside the other?
steps-miscounted: For {steps} counted steps, each part is called {expected} times, not {found}.
    -> The first step runs but is not counted. How many steps run in total?
counted-in-another-part: For `{part}`, you get {found:.1f} ms, but its work takes {exact:.1f} ms.
    -> A part that only launches work returns at once, and its time is then counted for the next
    part that waits. After which parts do you have to wait?
wrong-mean: `{part}` takes {exact:.1f} ms per step on average, but your result is {found:.1f} ms.
    -> Does every step add to the total of this part, and only the time of this part?
"""
