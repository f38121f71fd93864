"""Lab 02, exercise 1: eight one-line functions that compute where their first argument is."""

import torch
from torch import nn

from helpers.checks.exercise import otherwise
from helpers.checks.plain import first, is_equal, is_number, is_tensor

answers = """add(x, y), multiply(a, b), score(net, X), embed(embedding, words), hide(scores, mask),
    divide(x, total), noise(x, generator), count_correct(guesses, labels)"""
points = 4
success = "All eight lines work on any device."
section = "One error, word by word"
tolerance = 1e-2

LINES = {
    "add": lambda x, y: x + y,
    "multiply": lambda a, b: a @ b,
    "score": lambda net, X: net(X).detach(),
    "embed": lambda embedding, words: embedding(words).detach(),
    "hide": lambda scores, mask: scores.masked_fill(mask, -torch.inf),
    "divide": lambda x, total: x / total,
    "noise": lambda x, generator: torch.rand(x.shape, generator=generator),
    "count_correct": lambda guesses, labels: (guesses == labels).sum().item(),
}


def cases(draw):
    rows, columns = draw.sample(range(2, 9), 2)
    X, Y, weight = (draw.normal(n, columns).values for n in (rows, rows, 3))
    guesses = draw.integers(0, 3, (9,)).values
    labels = torch.where(torch.arange(9) < draw.randint(2, 7), guesses, 3)
    # Small and not near an integer, so that a rounded total gives a different result.
    total = torch.tensor(1.3 + 0.4 * draw.random())
    firsts = {"score": weight, "count_correct": guesses}
    seconds = {"multiply": Y.t(), "score": X, "embed": draw.integers(0, rows, (5,)).values}
    seconds |= {"hide": Y > 0, "divide": total, "count_correct": labels}
    for done, line in enumerate(LINES):
        case = {"line": line, "done": done, "seed": draw.randrange(2**31)}
        case |= {"first": firsts.get(line, X), "second": seconds.get(line, Y)}
        # The CPU first: torch accepts a 0-d CPU tensor together with GPU tensors.
        devices = draw.devices[::-1] if line == "divide" else draw.devices
        for device in devices:
            other = [candidate for candidate in draw.devices if candidate != device][-1]
            yield {**case, "device": device, "other": other, "works": devices[0]}


def build(case, device="cpu", other="cpu"):
    """Return the arguments of a line."""
    first, second = case.first.clone().to(device), case.second.clone().to(other)
    if case.line == "score":
        first = nn.Linear(case.first.shape[1], 3).to(device)
        first.load_state_dict({"weight": case.first, "bias": case.first[:, 0]})
    elif case.line == "embed":
        first = nn.Embedding.from_pretrained(first)
    elif case.line == "noise":
        # Another generator with the same seed must not give the same numbers.
        second = torch.Generator().manual_seed(case.seed)
        torch.rand(3, generator=second)
    return first, second


def collect(call, case, *lines):
    first, second = build(case, case.device, case.other)
    facts = call(lines[[*LINES].index(case.line)], first, second, name=case.line, may_fail=True)
    modules = isinstance(first, nn.Module)
    facts.add(given=case.device, place=next(first.parameters()) if modules else first)
    return facts.add(after=None if modules or case.line == "noise" else [first, second])


def right(case):
    return LINES[case.line](*build(case))


def one_device(f):
    """Return the values of the hint if the line works with a first argument on another device."""
    return f.case.device != f.case.works and {"works": f.case.works, "fails": f.case.device}


def is_of_the_kind(value, case):
    return is_number(value) if case.line == "count_correct" else is_tensor(value)


def is_elsewhere(f):
    return is_tensor(f.value) and f.value.device != f.case.device


errors = {
    "one-device-only": lambda f: f.error.hint == "device-error" and one_device(f),
    "result-dropped": lambda f: (
        f.error.hint == "device-error" and f.case.device in {copy.target for copy in f.copies}
    ),
    "still-mixes": lambda f: f.error.hint == "device-error" and f.error.values,
}
returns = ("different-result", is_of_the_kind)
side_effects = {
    "first-moved": lambda f: f.place.device != f.case.device and {"found": f.place.device},
    "one-device-only": lambda f: is_elsewhere(f) and one_device(f),
    "result-elsewhere": lambda f: is_elsewhere(f) and {"found": f.value.device},
}
mistakes = {
    "generator-unused": lambda f: f.case.line == "noise" and f.value.shape == tuple(f.right.shape),
    "different-result": otherwise,
}
costs = {
    # Reading a number copies at most eight bytes.
    "computed-elsewhere": lambda f: first(
        copy.source == f.case.device and copy.bytes > 8 and {"found": copy.target}
        for copy in f.copies
        if is_tensor(f.value)
    ),
    "input-changed": lambda f: (
        f.after and not is_equal([x.values for x in f.after], list(build(f.case)))
    ),
}
hints = """
still-mixes: `{name}` raises a device error. {explained} ({done} of the eight lines work.)
    -> The computation runs on the device of the first argument. Print the device of both arguments
    (for a network, that of its first parameter): which one is in the wrong place?
    see: The table to keep
result-dropped: `{name}` makes a copy on {device}, then continues with the original tensor.
    -> `.to` does not change the tensor it is called on. What does it return, and where do you store
    that?
    see: One error, word by word
one-device-only: `{name}` works with a first argument on {works}, but not with one on {fails}.
    -> Does your line name a device? The device differs between calls. Which argument tells you the
    device?
    see: One error, word by word
result-elsewhere: The first argument of `{name}` is on {given}, but the result is on {found}.
    -> The computation runs on the device of the first argument. Which of the two did you move?
    see: One error, word by word
different-result: `{name}` does not return what the given line returns for tensors on one device.
    -> Only devices have to change. Compare your line with the given one, piece by piece.
    see: The table to keep
first-moved: After `{name}`, its first argument is on {found}. It was on {given}.
    -> A module moves in place, for all code that uses it. Move the other argument instead.
    see: Matrix products and layers
computed-elsewhere: The first argument of `{name}` is on {given}, but your line copies it or the
    result to {found}.
    -> The computation runs on the device of the first argument. Which of the two has to move?
    see: One error, word by word
generator-unused: The numbers that `noise` returns do not come from the given generator.
    -> A generator draws on its own device, and the caller relies on its numbers. Where can you draw
    them, and where do they have to be afterward?
    see: NumPy, plots and random numbers
"""
