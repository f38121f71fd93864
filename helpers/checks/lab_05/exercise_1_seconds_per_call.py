"""Lab 05, exercise 1: the median time of a call that returns before its work is done."""

from operator import attrgetter

import torch

from helpers.checks.lab_05.simulated_queue import Queue, simulated
from helpers.checks.plain import is_number
from simulated_cuda import visible_devices

answers = "seconds_per_call(call, device, runs)"
points = 3
success = "Your stopwatch waits, warms up, and reports the median."
section = "A stopwatch that lies"
tolerance = 0.3  # for readings of the clock and for launches


def cases(draw):
    # Seconds of the first call, and of the later ones. Any five of these include one very fast call
    # and one very slow call, the third after a call that is not timed.
    later = [0.1, 0.1, 1.2, 0.1, 0.02]
    yield {"runs": 1, "exact": 300, "device": draw.device, "first": 1.8, "later": [0.3]}
    yield {"runs": 5, "exact": 100, "device": draw.device, "first": 0.6, "later": later}
    yield {"runs": 2, "exact": 3, "device": "cpu", "first": 0.003, "later": [0.003]}


def collect(call, case, seconds_per_call):
    device, queue, done = torch.device(case.device), Queue(), []

    def work():
        done.append(case.later[(len(done) - 1) % len(case.later)] if done else case.first)
        (queue.compute if device.type == "cpu" else queue.launch)(done[-1])

    queue.launch(1.8)  # the device may still be busy with other work
    with visible_devices(0 if device.type == "cpu" else 1), simulated(queue, seconds_per_call):
        facts = call(seconds_per_call, work, device, case.runs)
        facts.add(calls=len(done), runs=", ".join(f"{1000 * value:.1f}" for value in done[-5:]))
        # With another number of runs too, so that a fixed number of calls is found.
        call(seconds_per_call, work, device, 6 - case.runs)
    return facts.add(total=len(done))


def outcome(f):
    return 1000 * f.value


right = attrgetter("exact")
returns = ("not-a-number", lambda value, case: is_number(value))
side_effects = {"runs-ignored": lambda f: f.total == 2 * f.own["calls"]}
wrong_outcomes = {"no-warm-up": lambda case: 1000 * case.first}
mistakes = {
    "not-waited": lambda f: f.case.runs == 1 and f.outcome < 30,
    "not-the-median": lambda f: f.case.runs == 5,
    "wrong-time": True,
}
hints = """
runs-ignored: `call` was called {calls} times for `runs` = 1, and just as often for `runs` = 5.
    -> The caller decides how many calls are timed. Which number does your loop use?
not-waited: Your result is {found:.1f} ms, but the device works for {exact:.1f} ms after the call.
    -> You measured only the launch. What has to happen before the second reading of the clock?
no-warm-up: Your result, {found:.1f} ms, includes the first call. Later calls take {exact:.1f} ms.
    -> The first call includes work that happens only once. Where is that call in your function?
not-the-median: The runs took {runs} ms, but you return {found:.1f} ms, which is not their median.
    -> One unusually slow or fast run should not change the result. Time each run separately.
wrong-time: `seconds_per_call` returns {found:.1f} ms for a call of {exact:.1f} ms.
    -> What happens between the two readings of the clock, apart from one call and waiting for it?
"""
