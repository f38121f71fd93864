"""Lab 05, exercise 1: the median time of a call that returns before its work is done."""

import math
import statistics

import torch

from helpers.checks.lab_05.simulated_queue import Queue, simulated
from helpers.checks.machines import machine
from helpers.checks.plain import is_number

answers = "seconds_per_call(call, device, runs)"
points = 3
success = "Your stopwatch waits, warms up, and reports the median."
section = "A stopwatch that lies"

# Simulated seconds. The first call takes 6 units. Any five later ones include one very fast call
# and one very slow call, the third after a call that is not timed.
UNITS = {1: 0.3, 5: 0.1}
LATER = {1: [1], 5: [0.2, 1, 1, 12, 1]}


def cases(draw):
    yield from ({"runs": runs, "device": draw.device} for runs in UNITS)
    yield {"runs": 2, "device": "cpu"}


def time_calls(call, case, seconds_per_call, runs):
    """Let the student time `runs` calls; return the facts and the seconds of each call."""
    queue, unit = Queue(), UNITS[runs]
    if runs == 1:  # at the start, the device is still busy with other work
        queue.launch(6 * unit)
    before = len(queue.durations)

    def launch():
        count = len(queue.durations) - before
        queue.launch(unit * (LATER[runs][count % len(LATER[runs])] if count else 6))

    with simulated(queue, seconds_per_call):
        facts = call(seconds_per_call, launch, torch.device(case.device), runs)
    # Sleeping between two queries of an event is a valid way to wait.
    facts.add(sleeps=queue.slept and not queue.was_queried)
    return facts, queue.durations[before:]


def collect(call, case, seconds_per_call):
    if case.device == "cpu":
        queue = Queue()
        with machine(0), simulated(queue, seconds_per_call, has_gpu=False):
            cpu = torch.device("cpu")
            facts = call(seconds_per_call, lambda: queue.compute(0.003), cpu, 2, may_fail=True)
        return facts.add(sleeps=False)
    # With another number of runs too, so that a fixed number of calls is found.
    _, others = time_calls(call, case, seconds_per_call, 6 - case.runs)
    facts, durations = time_calls(call, case, seconds_per_call, case.runs)
    return facts.add(durations=durations, calls_of_other=len(others))


def is_time(value, case):
    return is_number(value) and math.isfinite(value) and value >= 0


def right(case):
    return None


def exact(f):
    """Return the median of the timed calls; if there was only one call, it was the slow first."""
    durations = f.durations[-f.case.runs :]
    return statistics.median(durations) if len(f.durations) > 1 else UNITS[f.case.runs]


def outcome(f):
    """Return None for a right time: 30 % are allowed, for readings of the clock and launches."""
    on_cpu = f.case.device == "cpu"
    return None if on_cpu or 0.7 * exact(f) <= f.value <= 1.3 * exact(f) else f.value


def times(f):
    """Return the values of hints, in milliseconds."""
    runs = ", ".join(f"{1000 * seconds:.1f}" for seconds in f.durations[-f.case.runs :])
    return {"found": 1000 * f.value, "exact": 1000 * exact(f), "runs": runs}


def units(f):
    return f.value / UNITS[1] if f.case.runs == 1 else 0


def in_gpu_case(predicate):
    return lambda f: f.case.device != "cpu" and predicate(f)


errors = {"needs-a-gpu": lambda f: f.case.device == "cpu" and {"error": f.error.line}}
returns = ("not-a-number", is_time)
side_effects = {
    "too-few-runs": in_gpu_case(
        lambda f: len(f.durations) < f.case.runs and {"calls": len(f.durations)}
    ),
    "sleeps": lambda f: f.sleeps,
}
mistakes = {
    "different-unit": lambda f: (
        not 1e-5 * exact(f) < f.value < 300 * exact(f) and {"exact": exact(f)}
    ),
    "not-waited": lambda f: f.value <= 0.1 * UNITS[f.case.runs] and times(f),
    "no-warm-up": lambda f: 4 < units(f) < 6.9 and times(f),
    "starts-too-early": lambda f: units(f) >= 6.9 and times(f),
    "not-the-median": lambda f: (
        f.case.runs > 1 and not 0.6 * exact(f) <= f.value <= 2.2 * exact(f) and times(f)
    ),
    "wrong-time": times,
}
costs = {
    "runs-ignored": in_gpu_case(
        lambda f: len(f.durations) == f.calls_of_other and {"calls": len(f.durations)}
    )
}
hints = """
not-a-number: `seconds_per_call` returns {what}, but it should return a number of seconds.
    -> Return one plain number, in seconds.
too-few-runs: `runs` is {runs}, but `call` was called {calls} times in total.
    -> Make one call before you start timing, then one call for each time you record. What does your
    loop iterate over?
runs-ignored: `call` was called {calls} times in total for `runs` = 1, and just as often for `runs`
    = 5.
    -> The caller decides how many calls are timed. Which number does your loop use?
not-waited: Your result is {found:.1f} ms. The device works for {exact:.1f} ms on each call, but
    `call` returns before that work is done.
    -> You measured how long it takes to launch the work. What has to happen between the call and
    the second reading of the clock?
starts-too-early: Your result is {found:.1f} ms, but a call takes {exact:.1f} ms. The device was
    still busy with earlier work when you started the clock.
    -> What can be in the queue when you read the clock for the first time? What empties the queue?
sleeps: `seconds_per_call` calls `time.sleep`: it waits for a fixed time, not for the device.
    -> A fixed time is too short for some work and too long for other work. Which call returns as
    soon as the device is done?
no-warm-up: Your result is {found:.1f} ms, which includes the very first call. Later calls take
    {exact:.1f} ms.
    -> The first call includes work that happens only once. Where does that call happen in your
    function?
not-the-median: The runs took {runs} ms, but `seconds_per_call` returns {found:.1f} ms, which is not
    their median.
    -> One unusually slow or fast run should not change the result. Time each run separately.
different-unit: `seconds_per_call` returns {found:.4g} for a call of {exact:.4f} seconds.
    -> Which unit does your clock use, and which one should you return?
wrong-time: `seconds_per_call` returns {found:.1f} ms for a call of {exact:.1f} ms.
    -> What happens between the two readings of the clock, apart from one call and waiting for it?
needs-a-gpu: For the device `cpu`, on a machine without a GPU, `seconds_per_call` raises {error}.
    -> On a CPU, a call is done when it returns. When is there something to wait for?
"""
