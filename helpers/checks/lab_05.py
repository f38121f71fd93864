"""The checks of lab 05, when the GPU wins."""

from __future__ import annotations

import copy
import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.core import Hint, Lab, NotRight, Trial
from helpers.checks.queues import Device, nothing_to_wait_for, stands_for_the_gpu

lab = Lab("05_when_the_gpu_wins", seconds=30)

_STOPWATCH = "A stopwatch that lies"
_PARTS = "Where a step's time goes"
_PIPELINE = "The input pipeline"
_LADDER = "The ladder"
_LARGER = "Larger batches"

# Exercise 1. Work is measured in units, long enough for a busy machine to wake a thread in time.
_UNIT = 0.012
NOT_SECONDS = Hint(
    "not-a-number",
    "`seconds_a_call` returns {what}; a number of seconds is asked for.",
    "The function returns one plain number, in seconds.",
    _STOPWATCH,
)
TOO_FEW = Hint(
    "too-few-runs",
    "You were asked for {runs} runs, and `call` was called {calls} times in all.",
    "One call for each time that is noted, and one before them all. What does your loop go over?",
    _STOPWATCH,
)
NOT_WAITED = Hint(
    "not-waited",
    "Your result is {found:.1f} ms. The device works {exact:.1f} ms on each call, and `call` comes "
    "back before it is done.",
    "You see how long the asking takes. What has to happen between the call and the second look "
    "at the clock?",
    _STOPWATCH,
)
EARLY_START = Hint(
    "starts-too-early",
    "Your result is {found:.1f} ms, and a call takes {exact:.1f} ms. The device still had other "
    "work to do when your clock started.",
    "What may lie in the queue when you read the clock for the first time? What empties it?",
    _STOPWATCH,
)
NO_WARM_UP = Hint(
    "no-warm-up",
    "Your result is {found:.1f} ms, the time of the very first call. Those that follow take "
    "{exact:.1f} ms.",
    "The first call pays for what happens once. Where does it go in your function?",
    _STOPWATCH,
)
NOT_MEDIAN = Hint(
    "not-the-median",
    "The runs took {runs} ms; `seconds_a_call` returns {found:.1f} ms, which is not their median.",
    "One run in which the machine had something else to do should change nothing, and neither "
    "should one that was lucky. Each run needs a time of its own.",
    _STOPWATCH,
)
OTHER_UNIT = Hint(
    "other-unit",
    "`seconds_a_call` returns {found:.4g} for a call of {exact:.4f} seconds.",
    "Which unit does your clock count in, and which one is asked for?",
    _STOPWATCH,
)
WRONG_TIME = Hint(
    "wrong-time",
    "`seconds_a_call` returns {found:.1f} ms for a call of {exact:.1f} ms.",
    "What lies between the two looks at the clock, besides one call and the waiting?",
    _STOPWATCH,
)
NO_GPU_HERE = Hint(
    "wants-a-gpu",
    "For the device `cpu`, on a machine without a GPU, `seconds_a_call` stops: {error}.",
    "On a CPU a call is done when it comes back. When is there something to wait for?",
    _STOPWATCH,
)


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


# Exercise 2
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
    _STOPWATCH,
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


# Exercise 3
AT_LEAST = 10
NOT_A_BATCH = Hint(
    "not-a-batch",
    "`prepare` returns {found}; a float32 tensor of shape {shape} is asked for.",
    "The result is what the slow function returns. Compare the two on a few images.",
    _PIPELINE,
)
OTHER_IMAGES = Hint(
    "other-images",
    "The batch does not hold the chosen images in the order in which they were chosen.",
    "`chosen` names the same image twice now and then, and in no order. What does indexing with a "
    "tensor of numbers give?",
    _PIPELINE,
)
OTHER_NUMBERS = Hint(
    "other-numbers",
    "The numbers of the batch go from {low:.3g} to {high:.3g}; those of the slow function go from "
    "-1 to 1.",
    "Print both batches for an image that is all 0 and for one that is all 255. What becomes of a "
    "byte that is divided, or from which something is taken away?",
    _PIPELINE,
)
IMAGES_CHANGED = Hint(
    "input-changed",
    "After the call, the images that were handed in are others.",
    "Methods whose name ends in an underscore write into the tensor they are called on.",
    _PIPELINE,
)
NOT_FASTER = Hint(
    "not-faster",
    "In this session your `prepare` is {found:.1f} times as fast as the slow one, in the median of "
    "{rounds} rounds by turns; {wanted} times is asked for.",
    "What is done once for each row, and could be done once for all of them? Does anything touch "
    "images that nobody has chosen, or make Python numbers of pixels?",
    _PIPELINE,
)


def slow_prepare(images: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    """What the student is given: float32 images of `chosen`, from -1 to 1, row by row."""
    batch = []
    for index in chosen.tolist():
        image = torch.empty(3, 32, 32)
        for colour in range(3):
            for row in range(32):
                pixels = images[index, colour, row].float()
                image[colour, row] = (pixels / 255 - 0.5) / 0.5
        batch.append(image)
    return torch.stack(batch)


@lab.exercise(3, points=3, right="The same numbers, and the loop no longer waits for them.")
def exercise_3(trial: Trial, prepare: Callable[..., Any]) -> None:
    """`prepare(images, chosen)`: the batch of the slow function, at least 10 times as fast."""
    images = torch.empty(2000, 3, 32, 32, dtype=torch.uint8)
    images.random_(0, 256, generator=trial.generator)
    images[0], images[1] = 0, 255
    # Where a GPU is simulated, something stands between torch and the CPU and has a price for each
    # operation. The slow function goes without, and so does what is timed: a loop would look slower
    # than it is.
    for count in (1, 12):
        chosen = trial.integers(0, len(images), (count,))
        chosen[-2:] = torch.tensor([1, 0])[-count:]
        few = images[:50].clone() if count == 1 else images
        chosen = chosen % len(few)
        chosen[: count // 4] = chosen[count // 2]
        with torch._C.DisableTorchFunction():
            expected = slow_prepare(few, chosen)
        first = few[:50].clone()
        found = trial.call(prepare, few, chosen)
        trial.expect_result(found)
        tensor = isinstance(found, torch.Tensor)
        shown = f"a {type(found).__name__}"
        shown = f"{found.dtype} of shape {tuple(found.shape)}" if tensor else shown
        good = tensor and found.shape == expected.shape and found.dtype == torch.float32
        trial.expect(good, NOT_A_BATCH, found=shown, shape=tuple(expected.shape))
        trial.expect(torch.equal(few[:50], first), IMAGES_CHANGED)
        if not torch.allclose(found, expected, atol=1e-5):
            low, high = found.min().item(), found.max().item()
            whole = math.isclose(low, -1, abs_tol=1e-3) and high < 1.001
            raise OTHER_IMAGES.of() if whole else OTHER_NUMBERS.of(low=low, high=high)
    ratios = []
    for _ in range(3):
        chosen = trial.integers(0, len(images), (32,))
        with torch._C.DisableTorchFunction():
            own = _seconds_of(lambda chosen=chosen: trial.call(prepare, images, chosen))
            slow = _seconds_of(lambda chosen=chosen: slow_prepare(images, chosen))
        ratios.append(slow / own)
    found = statistics.median(ratios)
    told = {"found": found, "rounds": len(ratios), "wanted": AT_LEAST}
    trial.expect(found >= AT_LEAST, NOT_FASTER, **told)


def _seconds_of(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


# Exercise 4
NOT_A_PAIR = Hint(
    "not-a-pair",
    "`plan` returns {what}; a pair is asked for: the steps as a whole number, and the rate.",
    "Two values behind one `return`, with a comma between them.",
    _LADDER,
)
LAST_BATCH_LOST = Hint(
    "last-batch-lost",
    "For {images} images in batches of {batch}, you plan {found} steps, and {left} images are left "
    "over.",
    "The last batch of an epoch may be smaller than the others, and is a step all the same.",
    _LARGER,
)
STEP_TOO_MANY = Hint(
    "step-too-many",
    "For {images} images in batches of {batch}, you plan {found} steps; the last would have no "
    "image.",
    "Try numbers that divide without a rest.",
    _LARGER,
)
OLD_RATE = Hint(
    "old-rate",
    "For batches of {batch}, `plan` keeps the rate of {found:g}.",
    "Fewer steps for the same images: how far must each of them go?",
    _LADDER,
)
WRONG_WAY = Hint(
    "wrong-way",
    "For batches of {batch}, your rate is {found:g}, which is smaller than the {base:g} for "
    "batches of {base_batch}.",
    "Which of the two batch sizes stands above the line of the fraction?",
    _LADDER,
)
ROOT_RULE = Hint(
    "root-rule",
    "For batches of {batch}, your rate is {found:g}: it grows with the root of the batch size.",
    "There is such a rule too, and another is asked for: twice as many images, twice as far.",
    _LADDER,
)
NO_LIMIT = Hint(
    "no-limit",
    "For batches of {batch}, your rate is {found:g}; the limit is {limit:g}.",
    "Beyond some rate training no longer runs steadily. Which of two numbers do you take, then?",
    _LADDER,
)
WRONG_RATE = Hint(
    "wrong-rate",
    "For batches of {batch}, your rate is {found:g}. It is {base:g} for batches of {base_batch}.",
    "How many times as large is the batch? The rate grows by the same factor, up to the limit.",
    _LADDER,
)


@lab.exercise(4, points=2, right="A larger batch, fewer steps, and a rate to match.")
def exercise_4(trial: Trial, plan: Callable[..., Any]) -> None:
    """`plan(images, batch, base_batch=4, base_rate=0.001, limit=0.1)`: steps and rate."""
    draw = trial.random.randint
    bases: list[dict[str, Any]] = [{}, {"base_batch": 3, "base_rate": 0.002, "limit": 0.3}]
    bases += [{"base_batch": 8, "base_rate": 0.004}]
    for given in bases:
        base_batch, base = given.get("base_batch", 4), given.get("base_rate", 0.001)
        limit = given.get("limit", 0.1)
        for batch in (base_batch, draw(20, 39), 64, draw(2, 3), 4096, 512):
            for images in (batch * draw(3, 90), batch * draw(3, 90) + draw(1, batch - 1)):
                found = trial.call(plan, images, batch, **given)
                trial.expect_result(found)
                pair = isinstance(found, tuple | list) and len(found) == 2
                pair = pair and type(found[0]) is int and type(found[1]) in (int, float)
                trial.expect(pair, NOT_A_PAIR, what=repr(found)[:60])
                steps, rate = found
                told = {"images": images, "batch": batch, "found": steps}
                left = images - steps * batch
                trial.expect(left <= 0, LAST_BATCH_LOST, left=left, **told)
                trial.expect(left > -batch, STEP_TOO_MANY, **told)
                linear = base * batch / base_batch
                if math.isclose(rate, min(linear, limit), rel_tol=1e-6):
                    continue
                told = {"batch": batch, "found": rate, "base": base, "base_batch": base_batch}
                larger = batch > base_batch
                trial.expect(not (larger and rate == base), OLD_RATE, batch=batch, found=rate)
                trial.expect(not larger or rate > base, WRONG_WAY, **told)
                root = math.isclose(rate, min(base * (batch / base_batch) ** 0.5, limit))
                trial.expect(not root, ROOT_RULE, batch=batch, found=rate)
                above = larger and rate > limit
                trial.expect(not above, NO_LIMIT, batch=batch, found=rate, limit=limit)
                raise WRONG_RATE.of(**told)


# Exercise 5
NO_STEP = Hint(
    "no-step",
    "After the call the network has the weights it had before.",
    "Go through your lines in order: when are the gradients made, used, cleared?",
    _LARGER,
)
STEP_A_PIECE = Hint(
    "step-a-piece",
    "You make a step after each piece: {pieces} small steps instead of a large one.",
    "`backward` adds to the gradients that are there. When are all of them together?",
    _LARGER,
)
LAST_PIECE_ONLY = Hint(
    "last-piece-only",
    "Your step goes along the gradient of the last piece alone.",
    "How often do you clear the gradients, and what is lost each time?",
    _LARGER,
)
SUM_OF_MEANS = Hint(
    "sum-of-means",
    "Your step is about {pieces} times as long as that of the whole batch.",
    "The loss of a piece is a mean over its images. What share of the whole batch are they?",
    _LARGER,
)
PIECES_ALIKE = Hint(
    "pieces-alike",
    "Every piece counts the same in your step, and the last one is smaller than the others.",
    "An image should count the same, whichever piece it is in.",
    _LARGER,
)
OLD_GRADIENTS = Hint(
    "old-gradients",
    "There were gradients from before in the network, and your step goes along them too.",
    "What do you have to do before the first piece?",
    _LARGER,
)
OTHER_STEP = Hint(
    "other-step",
    "After the call the weights are not those that one step with the whole batch would give.",
    "Compare with the whole batch at once: the same loss, the same optimizer, one step.",
    _LARGER,
)


@lab.exercise(5, points=3, right="One step of a large batch, in the memory of a small one.")
def exercise_5(trial: Trial, step_in_pieces: Callable[..., Any]) -> None:
    """`step_in_pieces(net, optimizer, pieces)`: one step, as if the pieces were one batch."""
    for device in (trial.device, torch.device("cpu")):
        torch.manual_seed(trial.seed)
        sizes = [trial.random.randint(6, 9)] * trial.random.randint(3, 5) + [2]
        pieces = [
            (trial.normal(n, 6, device=device) + i, trial.integers(0, 4, (n,), device))
            for i, n in enumerate(sizes)
        ]
        net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4)).to(device)
        F.cross_entropy(net(pieces[0][0]), pieces[0][1]).backward()
        given = copy.deepcopy(net)  # copies no gradients
        weights = [n / sum(sizes) for n in sizes]
        trial.call(step_in_pieces, net, torch.optim.SGD(net.parameters(), lr=0.2), pieces)
        alike = [1 / len(sizes)] * len(sizes)
        ways: dict[Hint | None, nn.Module] = {
            None: _stepped(given, pieces, weights),
            NO_STEP: given,
            LAST_PIECE_ONLY: _stepped(given, pieces[-1:], [1]),
            SUM_OF_MEANS: _stepped(given, pieces, [1] * len(sizes)),
            PIECES_ALIKE: _stepped(given, pieces, alike),
            OLD_GRADIENTS: _stepped(given, [pieces[0], *pieces], [1, *weights]),
        }
        small = given
        for piece in pieces:
            small = _stepped(small, [piece], [1])
        ways[STEP_A_PIECE] = small
        hint = next((way for way, other in ways.items() if _same_weights(net, other)), OTHER_STEP)
        if hint is not None:
            raise hint.of(pieces=len(pieces))


def _stepped(
    net: nn.Module, pieces: list[tuple[torch.Tensor, torch.Tensor]], weights: list[float]
) -> nn.Module:
    """A copy of `net` after one step along the weighted gradients of the pieces."""
    net = copy.deepcopy(net)
    net.zero_grad()
    for (inputs, targets), weight in zip(pieces, weights, strict=True):
        (weight * F.cross_entropy(net(inputs), targets)).backward()
    torch.optim.SGD(net.parameters(), lr=0.2).step()
    return net


def _same_weights(one: nn.Module, other: nn.Module) -> bool:
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return all(torch.allclose(a, b, rtol=1e-3, atol=1e-5) for a, b in pairs)
