"""Lab 03, exercise 4: a new head for a network whose optimizer already has a state."""

from collections import OrderedDict

import torch
from torch import nn

from helpers.checks.plain import is_close

answers = "replace_head(net, optimizer, classes)"
points = 3
success = "The optimizer trains the new head, and the rest continues as before."
section = "Gradients and the optimizer"


def cases(draw):
    for device in (draw.device, "cpu"):
        case = {"seed": draw.randrange(2**31), "classes": draw.randint(4, 9), "wanted": device}
        yield {**case, "rate": draw.randint(2, 9) / 100}


def build(case):
    torch.manual_seed(case.seed)
    net = nn.Sequential(OrderedDict(body=nn.Linear(5, 4), head=nn.Linear(4, 3)))
    optimizer = torch.optim.SGD(net.to(case.wanted).parameters(), lr=0.1, momentum=0.9)
    net(torch.ones(2, 5, device=case.wanted)).square().sum().backward()
    optimizer.step()
    optimizer.param_groups[0]["lr"] = case.rate  # as a scheduler does
    return net, optimizer


def collect(call, case, replace_head):
    net, optimizer = build(case)
    old = net.head
    state = [optimizer.state[p]["momentum_buffer"].cpu().clone() for p in net.body.parameters()]
    facts = call(replace_head, net, optimizer, case.classes)
    rates = {id(p): g["lr"] for g in optimizer.param_groups for p in g["params"]}
    own = {id(parameter) for parameter in net.parameters()}
    buffers = [optimizer.state.get(p, {}).get("momentum_buffer") for p in net.body.parameters()]
    facts.add(earlier=state, state=buffers, rates=[rates.get(key) for key in own])
    facts.add(kept=net.head is old or len((rates.keys() | {*map(id, optimizer.state)}) - own))
    return facts.add(
        shape=tuple(net.head.weight.shape), devices=[p.device for p in net.parameters()]
    )


side_effects = {
    "wrong-head": lambda f: f.shape != (f.case.classes, 4) and {"found": f.shape},
    "net-not-moved": lambda f: next(
        ({"found": device} for device in f.devices if str(device) != f.case.wanted), None
    ),
    "head-not-trained": lambda f: None in f.rates,
    "old-head-kept": lambda f: f.kept,
    "state-lost": lambda f: (
        (None in f.state or not all(map(is_close, f.state, f.earlier)))
        and {"entry": "momentum_buffer"}
    ),
    "other-rate": lambda f: (
        {*f.rates} != {f.case.rate} and {"found": max({*f.rates} - {f.case.rate})}
    ),
}
hints = """
wrong-head: `net.head.weight` has the shape {found}, but the new head is for {classes} classes.
    -> Assign a new layer to `net.head`. It has the inputs of the old one.
net-not-moved: The network is on {wanted}, but a part of it is on {found} now.
    -> On which device does a new layer start?
head-not-trained: The optimizer does not know the parameters of the new head: they would not learn.
    -> An optimizer keeps a list of parameters. What does it still hold after your assignment?
old-head-kept: The optimizer still keeps tensors of the old head, or their state.
    -> Look at `optimizer.param_groups` and at the keys of `optimizer.state`.
state-lost: `{entry}` of the body is no longer in the optimizer's state, or it has changed.
    -> A new optimizer starts with an empty state. Which entries can stay as they are?
other-rate: The learning rate was changed to {rate}, but for a parameter it is {found} now.
    -> Which settings does a new parameter group get?
"""
