"""Lab 03, exercise 3: network and optimizer move, and nothing is lost."""

from functools import partial

import torch

from helpers.checks.lab_03.shared import build, contents, differing, left_behind, take_steps
from helpers.checks.plain import first, is_close, plain

answers = "move_both(net, optimizer, device)"
points = 3
success = "Network and optimizer move together, and training continues."
section = "Gradients and the optimizer"
close = partial(is_close, rtol=1e-3, atol=1e-7)


def cases(draw):
    gpu, other, cpu = draw.devices[0], draw.devices[1 - len(draw.devices)], "cpu"
    rows = [("SGD", cpu, gpu, 2), ("Adam", cpu, gpu, 2), ("Adam", gpu, cpu, 2)]
    for name, source, wanted, steps in [*rows, ("SGD", gpu, other, 2), ("SGD", cpu, gpu, 0)]:
        case = {"optimizer": name, "source": source, "wanted": wanted, "steps": steps}
        yield {**case, "seed": draw.randrange(2**31)}


def collect(call, case, move_both):
    net, optimizer = build(case, case.source)
    take_steps(net, optimizer, case.steps)
    facts = call(move_both, net, optimizer, torch.device(case.wanted))
    return facts.add(tensors=net.state_dict(), state=contents(net, optimizer))


def right(case):
    net, optimizer = build(case)
    take_steps(net, optimizer, case.steps)
    return plain({"tensors": net.state_dict(), "state": contents(net, optimizer)})


def outcome(f):
    return f.right  # the rows compare its parts


side_effects = {
    "net-not-moved": lambda f: first(
        tensor.device != f.case.wanted and {"found": tensor.device} for tensor in f.tensors.values()
    ),
    "weights-changed": lambda f: differing(f.tensors, f.right["tensors"], close),
    "state-lost": lambda f: first(
        key not in f.state and {"entry": key.split()[1]} for key in f.right["state"]
    ),
    "state-not-moved": lambda f: left_behind(f.state, f.case.wanted),
    "state-changed": lambda f: differing(f.state, f.right["state"], close),
}
hints = """
net-not-moved: You asked for {wanted}, but after `{name}` the network is on {found}.
    -> Move the network that was passed in, to the device that was passed in.
state-lost: `{entry}` is no longer in the optimizer's state.
    -> A new optimizer starts with an empty state. You can move the state of the existing one.
state-changed: After the move, `{entry}` in the optimizer's state contains different numbers.
    -> Move the values without changing them. What did you put in their place?
weights-changed: After the move, the network's weights are different.
    -> A move changes where the numbers are. What else does your function do to them?
"""
