"""Lab 02, exercise 1: eight one-line functions that compute where their first argument is."""

import torch
from torch import nn

from helpers.checks.exercise import STANDARD, otherwise
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
    "score": lambda net, X: net(X),
    "embed": lambda embedding, words: embedding(words),
    "hide": lambda scores, mask: scores.masked_fill(mask, -torch.inf),
    "divide": lambda x, total: x / total,
    "noise": lambda x, generator: torch.rand(x.shape, generator=generator),
    "count_correct": lambda guesses, labels: (guesses == labels).sum().item(),
}


def cases(draw):
    rows, columns = draw.sample(range(2, 9), 2)
    for done, line in enumerate(LINES):
        case = {"line": line, "done": done, "rows": rows, "columns": columns}
        for i, device in enumerate(draw.devices):
            other, seed = draw.devices[i - 1], draw.randrange(2**31)
            yield case | {"device": device, "given": device, "other": other, "seed": seed}


def build(case, device="cpu", other="cpu"):
    """Return the arguments of a line; `noise` gets a generator on the CPU."""
    torch.manual_seed(case.seed)
    X, Y = torch.randn(2, case.rows, case.columns)
    labels = torch.randint(3, (9,))
    # Not at the start of its numbers, which another generator with this seed would draw.
    generator = torch.Generator().manual_seed(case.seed)
    torch.rand(3, generator=generator)
    first, second = {
        "multiply": (X, Y.t()),
        "score": (nn.Linear(case.columns, 3), X),
        "embed": (nn.Embedding(case.rows, case.columns), torch.randint(case.rows, (5,))),
        "hide": (X, Y > 0),
        # Small and not near an integer, so that a rounded total gives a different result.
        "divide": (X, 1.3 + 0.4 * torch.rand(())),
        "noise": (X, generator),
        "count_correct": (labels, torch.where(torch.arange(9) < case.rows, labels, 3)),
    }.get(case.line, (X, Y))
    return first.to(device), second if second is generator else second.to(other)


def tensors(*values):
    return [value for value in values if isinstance(value, torch.Tensor)]


def collect(call, case, *lines):
    first, second = build(case, case.device, case.other)
    facts = call(lines[case.done], first, second, name=case.line, may_fail=True)
    facts.add(place=next(first.parameters()) if isinstance(first, nn.Module) else first)
    return facts.add(after=tensors(first, second))


def right(case):
    return LINES[case.line](*build(case))


def is_of_the_kind(value, case):
    return is_number(value) if case.line == "count_correct" else is_tensor(value)


errors = {"still-mixes": lambda f: f.error.hint == "device-error" and f.error.values}
returns = ("different-result", is_of_the_kind)
side_effects = {
    "net-moved": lambda f: f.place.device != f.case.device and {"found": f.place.device},
    "result-elsewhere": lambda f: is_tensor(f.value) and STANDARD["result-elsewhere"](f),
}
mistakes = {"different-result": otherwise}
costs = {
    # Reading a number copies at most eight bytes.
    "computed-elsewhere": lambda f: (
        is_tensor(f.value)
        and first(
            copy.source == f.case.device and copy.bytes > 8 and {"found": copy.target}
            for copy in f.copies
        )
    ),
    "input-changed": lambda f: not is_equal(f.after, tensors(*build(f.case))),
}
hints = """
still-mixes: `{name}` raises a device error. {explained} ({done} of the eight lines work.)
    -> The computation runs on the device of the first argument. Print the device of both arguments
    (for a network, that of its first parameter): which one is in the wrong place?
    see: The table to keep
result-elsewhere: The first argument of `{name}` is on {given}, but the result is on {found}.
    -> The computation runs on the device of the first argument. Which of the two did you move?
different-result: `{name}` does not return what the given line returns for tensors on one device.
    -> Only devices have to change. Compare your line with the given one, piece by piece.
    see: The table to keep
computed-elsewhere: The first argument of `{name}` is on {given}, but your line copies it or the
    result to {found}.
    -> The computation runs on the device of the first argument. Which of the two has to move?
"""
