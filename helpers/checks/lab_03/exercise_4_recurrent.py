"""Lab 03, exercise 4: a network that creates tensors on the device of its input."""

import torch
from torch import nn

from helpers.checks.plain import first, is_tensor, plain

answers = "Recurrent(inputs, hidden)"
points = 2
success = "One network for any device, and nothing is copied."
section = "Device-agnostic code"
tolerance = 1e-2


def cases(draw):
    sizes, seed, devices = draw.sample(range(2, 7), 2), draw.randrange(2**31), draw.devices
    for i, device in enumerate([*devices, devices[0]]):
        count = draw.randint(2, 5)
        # Two calls with equally many sequences: nothing may be left over from the first.
        shapes = (count, draw.randint(2, 6)), (count, 2), (1, 1)
        sequence = [draw.normal(*shape, sizes[0], device=device) for shape in shapes]
        case = {"sizes": sizes, "seed": seed, "sequence": sequence}
        yield {**case, "visited": devices[:i], "device": device, "given": device}


def collect(call, case, Recurrent):
    torch.manual_seed(case.seed)
    facts = call(Recurrent, *case.sizes)
    if not isinstance(net := facts.result, nn.Module):
        return facts
    for device in (*case.visited, case.device):
        net.to(device)
        sequences = [sequence.values.clone().to(device) for sequence in case.sequence]
        calls = [call(net, X, name="Recurrent", may_fail=True) for X in sequences]
    facts.copies = [copy for each in calls for copy in each.copies]
    facts.error = first(each.error for each in calls)
    facts.arguments = plain({"sequence": sequences})
    facts.value = [each.value for each in calls]
    return facts


def right(case):
    torch.manual_seed(case.seed)
    inner, states = nn.Linear(sum(case.sizes), case.sizes[1]), []
    for sequence in case.sequence:
        count, steps, _ = sequence.shape
        X, state = sequence.values, torch.zeros(count, case.sizes[1])
        for step in range(steps):
            state = torch.tanh(inner(torch.cat([X[:, step] + step / steps, state], dim=1)))
        states.append(state)
    return states


errors = {
    "one-device-only": lambda f: (
        f.error.hint == "device-error"
        and f.case.visited
        and {"works": f.case.visited[0], "fails": f.case.device}
    )
}
returns = ("not-a-module", lambda value, case: isinstance(value, list))
side_effects = {
    "result-elsewhere": lambda f: first(
        is_tensor(state) and state.device != f.case.device and {"found": state.device}
        for state in f.value
    )
}
mistakes = {"different-scores": True}
hints = """
one-device-only: `net` works on {works}, but not after `net.to({fails})`.
    -> Does your `forward` name a device, or use one that was stored earlier? What can tell it the
    device in each call?
result-elsewhere: The network and the sequence are on {given}, but the result is on {found}.
    -> The result belongs on the device of the input. Does one of your lines move something away?
input-changed: After the call, the caller's `sequence` contains different numbers.
    -> Some operations write to the tensor on their left. Create a new tensor instead.
copied: When called on {device}, `forward` copies {bytes} bytes from one device to another.
    -> Tensors can be created on the device where they are needed. Which call creates them, and
    where?
"""
