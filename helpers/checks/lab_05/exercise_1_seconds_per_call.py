"""Lab 05, exercise 1: the median time of a call that returns before its work is done."""

import torch

from helpers.checks.lab_05.simulated_queue import Queue, simulated
from helpers.checks.plain import is_number
from simulated_cuda import visible_devices

answers = "seconds_per_call(call, device, runs)"
points = 3
success = "Your stopwatch waits, warms up, and reports the median."
section = "A stopwatch that lies"
tolerance = 0.3  # for readings of the clock and for launches
# Simulated seconds of the first call and of the later ones. Any five of these include one very fast
# call and one very slow call, the third after a call that is not timed.
SECONDS = {1: (1.8, 0.3), 5: (0.6, 0.1, 0.1, 1.2, 0.1, 0.02)}


def cases(draw):
    for runs, exact, device in (1, 300, draw.device), (5, 100, draw.device), (2, 3, "cpu"):
        yield {"runs": runs, "exact": exact, "device": device}  # in milliseconds


def time_calls(call, case, seconds_per_call, runs):
    queue, (first, *later) = Queue(), SECONDS[runs]
    queue.launch(1.8 if runs == 1 else 0)  # the device may still be busy with other work

    def launch():
        count = len(queue.durations) - 2
        queue.launch(first if count < 0 else later[count % len(later)])

    with simulated(queue, seconds_per_call):
        facts = call(seconds_per_call, launch, torch.device(case.device), runs)
    # Sleeping between two queries of an event is a valid way to wait.
    facts.add(sleeps=queue.slept and not queue.was_queried)
    return facts.add(seconds=queue.durations[1:], calls=len(queue.durations) - 1)


def collect(call, case, seconds_per_call):
    if case.device == "cpu":
        queue, cpu = Queue(), torch.device("cpu")
        with visible_devices(0), simulated(queue, seconds_per_call, has_gpu=False):
            facts = call(seconds_per_call, lambda: queue.compute(0.003), cpu, case.runs)
        return facts.add(sleeps=False, calls=1, others=0)
    # With another number of runs too, so that a fixed number of calls is found.
    others = time_calls(call, case, seconds_per_call, 6 - case.runs).own["calls"]
    return time_calls(call, case, seconds_per_call, case.runs).add(others=others)


def right(case):
    return case.exact


def outcome(f):
    return 1000 * f.value


returns = ("not-a-number", lambda value, case: is_number(value) and 0 <= value < 1e9)
side_effects = {
    "runs-ignored": lambda f: f.own["calls"] == f.others,
    "sleeps": lambda f: f.sleeps,
}
wrong_outcomes = {
    "no-warm-up": lambda case: 1800 if case.runs == 1 else None,
    "starts-too-early": lambda case: 3600 if case.runs == 1 else None,
}
mistakes = {
    "not-waited": lambda f: f.case.runs == 1 and f.outcome < 30,
    "not-the-median": lambda f: (
        f.case.runs == 5 and {"runs": ", ".join(f"{1000 * s:.1f}" for s in f.seconds[-5:])}
    ),
    "wrong-time": True,
}
hints = """
not-a-number: `seconds_per_call` returns {what}, but it should return a number of seconds.
    -> Return one plain number, in seconds.
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
wrong-time: `seconds_per_call` returns {found:.1f} ms for a call of {exact:.1f} ms.
    -> What happens between the two readings of the clock, apart from one call and waiting for it?
"""
