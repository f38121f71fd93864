"""Lab 03, exercise 3: network and optimizer move, and nothing is lost."""

import torch

from helpers.checks.lab_03.shared import build, contents, differing, left_behind
from helpers.checks.plain import first, plain

answers = "move_both(net, optimizer, device)"
points = 3
success = "Network and optimizer move together, and training continues."
section = "Gradients and the optimizer"


def cases(draw):
    gpu, other, cpu = draw.devices[0], draw.devices[1 - len(draw.devices)], "cpu"
    rows = [("SGD", cpu, gpu, 2), ("Adam", cpu, gpu, 2), ("Adam", gpu, cpu, 2)]
    for row in [*rows, ("SGD", gpu, other, 2), ("SGD", cpu, gpu, 0)]:
        case = zip(("optimizer", "source", "wanted", "steps"), row, strict=True)
        yield {**dict(case), "seed": draw.randrange(2**31)}


def collect(call, case, move_both):
    net, optimizer = build(case, case.source, case.steps)
    earlier = plain(contents(net, optimizer))
    facts = call(move_both, net, optimizer, torch.device(case.wanted))
    return facts.add(earlier=earlier, **contents(net, optimizer))


side_effects = {
    "net-not-moved": lambda f: left_behind(f.weights | f.buffers, f.case.wanted),
    "state-lost": lambda f: (
        (lost := f.earlier["state"].keys() - f.state) and {"entry": min(lost).split()[1]}
    ),
    "state-not-moved": lambda f: left_behind(f.state, f.case.wanted),
    "numbers-changed": lambda f: first(differing(f, part) for part in f.earlier),
}
hints = """
net-not-moved: You asked for {wanted}, but after `{name}` the network is on {found}.
    -> Move the network that was passed in, to the device that was passed in.
state-lost: `{entry}` is no longer in the optimizer's state.
    -> A new optimizer starts with an empty state. You can move the state of the existing one.
numbers-changed: After the move, `{entry}` contains different numbers.
    -> Move the values without changing them. What did you put in their place?
"""
