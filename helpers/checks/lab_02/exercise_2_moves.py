"""Lab 02, exercise 2: one move for each of seven messages."""

from contextlib import suppress

import torch
from torch.nn import functional as F

from helpers.checks.machines import machine
from helpers.checks.plain import describe, first
from helpers.language import translate

answers = "moves()"
points = 3
success = "For every message you know which tensor moves, and where to."
section = "The table to keep"

# For each line: its code, the same as a function, and for each tensor its shape and device. Tensors
# of one dimension with a name in INDICES contain indices.
INDICES = ("labels", "rows", "words")
LINES = {
    "A": (
        "loss = F.cross_entropy(scores, labels)",
        F.cross_entropy,
        {"scores": ((4, 3), "cuda:0"), "labels": ((4,), "cpu")},
    ),
    "B": (
        "scores = images @ weights",
        torch.matmul,
        {"images": ((4, 3), "cpu"), "weights": ((3, 2), "cuda:0")},
    ),
    "C": (
        "total = running + batch_mean",
        torch.add,
        {"running": ((3,), "cuda:1"), "batch_mean": ((3,), "cuda:0")},
    ),
    "D": (
        "picked = table[rows]",
        lambda table, rows: table[rows],
        {"table": ((9, 2), "cpu"), "rows": ((3,), "cuda:0")},
    ),
    "E": (
        "vectors = F.embedding(words, table)",
        F.embedding,
        {"words": ((5,), "cpu"), "table": ((9, 2), "cuda:0")},
    ),
    "F": (
        "edges = F.conv2d(images, kernel)",
        F.conv2d,
        {"images": ((16, 3, 32, 32), "cpu"), "kernel": ((6, 3, 5, 5), "cuda:0")},
    ),
    "G": (
        "array = scores.numpy()",
        lambda scores: torch.from_numpy(scores.numpy()),
        {"scores": ((4, 3), "cuda:0")},
    ),
}
GOALS = {"D": "the table should stay on the CPU", "G": "an array is always in the CPU's memory"}


def cases(draw):
    return [{"names": ", ".join(LINES)}]


def collect(call, case, moves):
    """Try each move on the real line, and record the device of its result."""
    facts, devices = call(moves), {}
    for line, (_, function, tensors) in LINES.items():
        with suppress(Exception), machine(2):
            name, device = facts.result[line]
            values = {
                key: torch.zeros(shape, dtype=torch.int64 if key in INDICES else None, device=place)
                for key, (shape, place) in tensors.items()
            }
            values[name] = values[name].to(device)
            devices[line] = str(function(*values.values()).device)
    return facts.add(devices=devices)


def wrong_plan(f):
    if not isinstance(f.value, dict):
        return {"what": describe(f.value)}
    if f.value.keys() != LINES.keys():
        keys = sorted(map(str, f.value))
        return {"what": translate("a dictionary with the keys {keys}", keys=keys)}
    return first(
        not (isinstance(move, tuple | list) and len(move) == 2)
        and {"what": translate("{what} for line {line}", what=describe(move), line=line)}
        for line, move in f.value.items()
    )


def each(f, is_wrong):
    """Return the values of the hint for the first line whose move is wrong."""
    for line, (code, _, tensors) in LINES.items():
        name, device = f.value[line]
        if is_wrong(line, name, str(device), tensors):
            goal = translate(GOALS.get(line, "the result should be on `cuda:0`"))
            return {"line": line, "name": name, "device": str(device), "code": code, "goal": goal}
    return None


returns = ("not-a-plan", lambda value, case: True)
side_effects = {
    "not-a-plan": wrong_plan,
    "no-such-name": lambda f: each(f, lambda line, name, device, tensors: name not in [*tensors]),
    "no-such-device": lambda f: each(
        f, lambda line, name, device, tensors: device not in ("cpu", "cuda:0", "cuda:1")
    ),
    "already-there": lambda f: each(
        f, lambda line, name, device, tensors: device == tensors[name][1]
    ),
    "still-mixes": lambda f: each(f, lambda line, *move: line not in f.devices),
    "wrong-goal": lambda f: each(
        f, lambda line, *move: f.devices[line] != ("cpu" if line in GOALS else "cuda:0")
    ),
}
hints = """
not-a-plan: `moves` returns {what}, but it should return a dictionary with one pair for each of the
    lines {names}.
    -> Each key is the letter of a line; each value is a name from that line and a device, such as
    `("x", "cuda:0")`.
no-such-name: Line {line}: {name!r} is not the name of a tensor in `{code}`.
    -> Write the name as it is in the line of code, not as it is in the message: `mat2` and `target`
    are names inside PyTorch.
no-such-device: Line {line}: {device!r} is not a device on this machine, which has `cpu`, `cuda:0`
    and `cuda:1`.
    -> Write a device as the messages write it.
already-there: Line {line}: `{name}` is already on {device}, so this move changes nothing.
    -> Read the message again: on which device is each of the tensors in this line?
still-mixes: Line {line}: with `{name}` on {device}, the line still mixes devices.
    -> Write down the device of every tensor in the line. Which one has to move so that all of them
    are on the same device?
wrong-goal: Line {line} runs after your move, but {goal}.
    -> There are two ways to end with everything on one device. Which one does the exercise ask for?
"""
