"""Lab 03, exercise 2: network and optimizer move, and nothing is lost."""

import torch
from torch import nn

from helpers.checks.plain import first, is_equal, plain

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


def build(case, device, steps):
    """Return a trained network and its optimizer, whose two groups have rates of their own."""
    torch.manual_seed(case.seed)
    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2)).to(device)
    (weight, *others), rate = net.parameters(), 0.02 + case.seed % 5 / 100
    groups = [{"params": [weight], "lr": rate}, {"params": others, "lr": 2 * rate}]
    options = {"SGD": {"momentum": 0.9, "weight_decay": 0.01}, "Adam": {"betas": (0.8, 0.9)}}
    optimizer = getattr(torch.optim, case.optimizer)(groups, **options[case.optimizer])
    for _ in range(steps):
        optimizer.zero_grad()
        ((net(torch.arange(24.0).sin().reshape(6, 4).to(device)) - 1) ** 2).mean().backward()
        optimizer.step()
    return net, optimizer


def contents(net, optimizer):
    """Return weights, buffers, and the optimizer's state and settings as "number name"."""
    weights, buffers = dict(net.named_parameters()), dict(net.named_buffers())
    ids = {id(weight) for weight in weights.values()}
    groups = [{**g, "params": [id(p) in ids for p in g["params"]]} for g in optimizer.param_groups]
    tables = enumerate([optimizer.state.get(p, {}) for p in weights.values()] + groups)
    state = {f"{i} {key}": value for i, table in tables for key, value in table.items()}
    return {"weights": weights, "buffers": buffers, "state": state}


def collect(call, case, move_both):
    net, optimizer = build(case, case.source, case.steps)
    earlier = plain(contents(net, optimizer))
    facts = call(move_both, net, optimizer, torch.device(case.wanted))
    return facts.add(earlier=earlier, **contents(net, optimizer))


def left_behind(tensors, device):
    return first(  # a step counter may stay on the CPU, as those of Adam do
        getattr(value, "shape", ())
        and value.device != device
        and {"found": value.device, "entry": key.split()[-1]}
        for key, value in tensors.items()
    )


def differing(f, part):
    """Return the values of the hint for an entry that differs, on whichever device it is."""
    return first(
        not is_equal(f.own[part].get(key), getattr(value, "values", value))
        and {"entry": key.split()[-1], "name": key}
        for key, value in f.earlier[part].items()
    )


side_effects = {
    "net-not-moved": lambda f: left_behind(f.weights | f.buffers, f.case.wanted),
    "state-lost": lambda f: (x := f.earlier["state"].keys() - f.state) and {"entry": min(x)[2:]},
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
