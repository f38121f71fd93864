"""Lab 03, exercise 4: a network that creates tensors on the device of its input."""

import torch
from torch import nn

from helpers.checks.exercise import otherwise
from helpers.checks.plain import PlainModule, first, is_equal, is_tensor

answers = "Recurrent(inputs, hidden)"
points = 2
success = "One network for any device, and nothing is copied."
section = "Device-agnostic code"


class GivenRecurrent(nn.Module):
    """The class given in the exercise, which works only on the CPU."""

    def __init__(self, inputs, hidden):
        super().__init__()
        self.hidden = hidden
        self.inner = nn.Linear(inputs + hidden, hidden)

    def forward(self, sequence):
        """Map `(N, steps, inputs)` to `(N, hidden)`."""
        count, steps, _ = sequence.shape
        state = torch.zeros(count, self.hidden)
        sequence = sequence + torch.arange(steps).reshape(-1, 1) / steps
        for step in range(steps):
            state = torch.tanh(self.inner(torch.cat([sequence[:, step], state], dim=1)))
        return state


def cases(draw):
    sizes, seed, devices = draw.sample(range(2, 7), 2), draw.randrange(2**31), draw.devices
    for i, device in enumerate([*devices, devices[0]]):
        count = draw.randint(2, 5)
        # Two calls with equally many sequences: nothing may be left over from the first.
        shapes = (count, draw.randint(2, 6)), (count, 2), (1, 1)
        sequences = [draw.normal(*shape, sizes[0], device=device) for shape in shapes]
        case = {"sizes": sizes, "seed": seed, "visited": devices[:i], "sequences": sequences}
        yield {**case, "device": device, "works": devices[0], "given": device}


def collect(call, case, Recurrent):
    torch.manual_seed(case.seed)
    facts = call(Recurrent, *case.sizes)
    if not isinstance(net := facts.result, nn.Module):
        return facts
    for device in (*case.visited, case.device):
        net.to(device)
        sequences = [sequence.values.clone().to(device) for sequence in case.sequences]
        calls = [call(net, X, name="Recurrent", may_fail=True) for X in sequences]
    facts.copies = [copy for each in calls for copy in each.copies]
    facts.error = first(each.error for each in calls)
    return facts.add(net=net, scores=[each.value for each in calls], after=sequences)


def right(case):
    torch.manual_seed(case.seed)
    net = GivenRecurrent(*case.sizes)
    return [net(sequence.values) for sequence in case.sequences]


def outcome(f):
    return [scores.values for scores in f.scores]


def elsewhere(f):
    devices = {scores.device for scores in f.scores if is_tensor(scores)} - {f.case.device}
    return devices and {"found": devices.pop()}


def one_device(f):
    return f.case.device != f.case.works and {"fails": f.case.device}


tolerance = 1e-2
errors = {"one-device-only": lambda f: f.error.hint == "device-error" and one_device(f)}
returns = ("not-a-module", lambda value, case: isinstance(value, PlainModule))
side_effects = {
    "net-moved": lambda f: (
        f.net.devices != [f.case.device]
        and {"name": "net(sequence)", "found": ", ".join(f.net.devices)}
    ),
    "one-device-only": lambda f: elsewhere(f) and one_device(f),
    "result-elsewhere": elsewhere,
}
mistakes = {"different-scores": otherwise}
costs = {
    "input-changed": lambda f: not is_equal(f.after, f.case.sequences),
    "copied": lambda f: f.copies and {"bytes": f.bytes_copied},
}
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
