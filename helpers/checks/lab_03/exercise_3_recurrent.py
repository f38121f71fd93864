"""Lab 03, exercise 3: a network that creates tensors on the device of its input."""

import torch
from torch import nn

from helpers.checks.plain import Other, plain

answers = "Recurrent(inputs, hidden)"
points = 2
success = "One network for any device, and nothing is copied."
section = "Device-agnostic code"
tolerance = 1e-2


def cases(draw):
    sizes, seed, works = draw.sample(range(2, 7), 2), draw.randrange(2**31), draw.device
    for i, device in enumerate([*draw.devices, works]):
        count, steps = (1, 1) if i == 1 else (draw.randint(2, 5), 2 + i)
        case = {"sizes": sizes, "seed": seed, "visited": draw.devices[:i], "device": device}
        # As many sequences as in the call before: nothing may be left over from it.
        case |= {key: draw.normal(count, n, sizes[0]) for key, n in (("X", 2), ("sequence", steps))}
        yield {**case, "works": works, "fails": device}


def collect(call, case, Recurrent):
    torch.manual_seed(case.seed)
    facts = call(Recurrent, *case.sizes)
    if isinstance(net := facts.result, nn.Module):
        for device in (*case.visited, case.device):
            net.to(device)
            call(net, case.X.make().to(device), name="Recurrent")
            sequence = case.sequence.make().to(device)
            facts = call(net, sequence, name="Recurrent")
            facts.arguments = {"sequence": plain(sequence.cpu())}
    return facts


def right(case):
    torch.manual_seed(case.seed)
    inner, X = nn.Linear(sum(case.sizes), case.sizes[1]), case.sequence.values
    state = torch.zeros(len(X), case.sizes[1])
    for step in range(X.shape[1]):
        state = torch.tanh(inner(torch.cat([X[:, step] + step / X.shape[1], state], dim=1)))
    return state


errors = {
    "one-device-only": lambda f: f.error.hint == "device-error" and f.case.visited,
    "device-error": lambda f: f.error.hint == "device-error",
}
questions = ["result-elsewhere", "input-changed", "copied"]
returns = ("not-a-module", lambda value, case: not isinstance(value, Other))
mistakes = {"different-scores": True}
hints = """
device-error: `{name}` raises a device error. {explained}
    -> Print the device of each tensor in that line. Where does `forward` create the one on the CPU?
one-device-only: `net` works on {works}, but not after `net.to({fails})`.
    -> Does `forward` name a device, or use a stored one? What can tell it the device in each call?
"""
