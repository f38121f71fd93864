"""Lab 02, exercise 1: eight one-line functions that compute where their first argument is."""

import torch

from helpers.checks.exercise import STANDARD
from helpers.checks.plain import is_equal, is_tensor

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
    for index, line in enumerate(LINES):
        for i, device in enumerate(draw.devices):
            case = {"line": line, "index": index, "seed": draw.randrange(2**31)}
            yield case | {"device": device, "given": device, "other": draw.devices[i - 1]}


def build(case, device="cpu", other="cpu"):
    """Return the arguments of a line; `noise` gets a generator on the CPU."""
    torch.manual_seed(case.seed)
    X, Y = torch.randn(2, 4, 6)
    # Not at the start of its numbers, which another generator with this seed would draw.
    generator = torch.Generator().set_state(torch.get_rng_state())
    labels = torch.randint(3, (8,), dtype=torch.int8)
    first, second = {
        "multiply": (X, Y.t()),
        "score": (torch.nn.Linear(6, 3), X),
        "embed": (torch.nn.Embedding(4, 6), torch.randint(4, (5,))),
        "hide": (X, Y > 0),
        # Small and not near an integer, so that a rounded total gives a different result.
        "divide": (X, 1.3 + 0.4 * torch.rand(())),
        "noise": (X, generator),
        "count_correct": (labels, torch.where(torch.arange(8) < 5, labels, 3)),
    }.get(case.line, (X, Y))
    return first.to(device), second if second is generator else second.to(other)


def tensors(first, second):
    values = [*(first.parameters() if isinstance(first, torch.nn.Module) else [first]), second]
    return [value for value in values if isinstance(value, torch.Tensor)]


def collect(call, case, *lines):
    first, second = build(case, case.device, case.other)
    facts = call(lines[case.index], first, second, name=case.line)
    return facts.add(after=tensors(first, second))


def right(case):
    return LINES[case.line](*build(case))


# All lines but the last return a tensor.
returns = ("different-result", lambda value, case: is_tensor(value) == (case.index < 7))
side_effects = {
    "net-moved": lambda f: f.after[0].device != f.case.device and {"found": f.after[0].device},
    "result-elsewhere": lambda f: is_tensor(f.value) and STANDARD["result-elsewhere"](f),
}
mistakes = {"different-result": True}
costs = {
    # Reading a number, or the eight guesses, copies at most eight bytes.
    "computed-elsewhere": lambda f: next(
        ({"found": c.target} for c in f.copies if c.source == f.case.device and c.bytes > 8), None
    ),
    "input-changed": lambda f: not is_equal(f.after, tensors(*build(f.case))),
}
hints = """
result-elsewhere: The first argument of `{name}` is on {given}, but the result is on {found}.
    -> The computation runs on the device of the first argument. Which of the two did you move?
different-result: `{name}` does not return what the given line returns for tensors on one device.
    -> Only devices have to change. Compare your line with the given one, piece by piece.
computed-elsewhere: `{name}` copies its first argument, on {given}, or the result to {found}.
    -> The computation runs on the device of the first argument. Which of the two has to move?
"""
