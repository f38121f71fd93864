"""Lab 03, exercise 4: a new head for a network whose optimizer already has a state."""

from collections import OrderedDict

import torch
from torch import nn

from helpers.checks.plain import first, is_equal, plain

answers = "replace_head(net, optimizer, classes)"
points = 3
success = "The optimizer trains the new head, and the rest continues as before."
section = "Gradients and the optimizer"


def cases(draw):
    for wanted, rate in ((draw.device, draw.choice((0.02, 0.05))), ("cpu", 0.07)):
        case = {"classes": draw.randint(4, 9), "wanted": wanted, "rate": rate}
        yield {**case, "seed": draw.randrange(2**31)}


def build(case):
    torch.manual_seed(case.seed)
    net = nn.Sequential(OrderedDict(body=nn.Linear(5, 4), head=nn.Linear(4, 3)))
    optimizer = torch.optim.SGD(net.to(case.wanted).parameters(), lr=0.1, momentum=0.9)
    net(torch.ones(2, 5, device=case.wanted)).square().sum().backward()
    optimizer.step()
    optimizer.param_groups[0]["lr"] = case.rate  # as a scheduler does
    return net, optimizer


def state_of_body(net, optimizer):
    state = [optimizer.state.get(p, {}).get("momentum_buffer") for p in net.body.parameters()]
    return plain({"momentum_buffer": state, "weight": [*net.body.parameters()]})


def collect(call, case, replace_head):
    net, optimizer = build(case)
    old, earlier = net.head, state_of_body(net, optimizer)
    facts = call(replace_head, net, optimizer, case.classes)
    rates = {id(p): g["lr"] for g in optimizer.param_groups for p in g["params"]}
    kept = {*rates, *map(id, optimizer.state)} - {*map(id, net.parameters())}
    facts.add(earlier=earlier, state=state_of_body(net, optimizer), rates={*rates.values()})
    facts.add(net=net, shape=tuple(net.head.weight.shape), kept=net.head is old or kept)
    net.zero_grad()
    sum(parameter.sum() for parameter in net.parameters()).backward()
    if net.head is not old:
        call(optimizer.step, name="optimizer.step")
    return facts.add(after={} if net.head is old else dict(net.named_parameters()))


side_effects = {
    "wrong-head": lambda f: f.shape != (f.case.classes, 4) and {"found": f.shape},
    "net-not-moved": lambda f: first(x != f.case.wanted and {"found": x} for x in f.net.devices),
    "head-not-trained": lambda f: first(
        is_equal(x, f.after.get(name)) and {"entry": name} for name, x in f.net.parameters.items()
    ),
    "old-head-kept": lambda f: f.kept,
    "state-lost": lambda f: first(
        not is_equal(f.state[entry], x) and {"entry": entry} for entry, x in f.earlier.items()
    ),
    "other-rate": lambda f: (x := f.rates - {f.case.rate}) and {"found": max(x)},
}
hints = """
wrong-head: `net.head.weight` has the shape {found}, but the new head is for {classes} classes.
    -> Assign a new layer to `net.head`. It has the inputs of the old one.
net-not-moved: The network is on {wanted}, but a part of it is on {found} now.
    -> On which device does a new layer start?
head-not-trained: The optimizer does not train `net.{entry}`: it would not learn.
    -> An optimizer keeps a list of parameters. What does it still hold after your assignment?
old-head-kept: The optimizer still keeps tensors of the old head, or their state.
    -> Look at `optimizer.param_groups` and at the keys of `optimizer.state`.
state-lost: `{entry}` of the body is no longer in the optimizer's state, or it has changed.
    -> A new optimizer starts with an empty state. Which entries can stay as they are?
other-rate: The learning rate was changed to {rate}, but for a parameter it is {found} now.
    -> Which settings does a new parameter group get?
"""
