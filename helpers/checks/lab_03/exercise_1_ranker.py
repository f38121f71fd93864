"""Lab 03, exercise 1: a module whose mean, gain and heads move with it."""

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from helpers.checks.plain import Other, describe, first

answers = "Ranker(features, classes)"
points = 3
success = "Everything that the module registers moves with it and is saved."
section = "What moves with a network, and what does not"
tolerance = 1e-2


def cases(draw):
    for device in draw.devices:
        sizes, seed = draw.sample(range(2, 9), 2), draw.randrange(2**31)
        yield {"X": draw.normal(3, sizes[0], device=device), "seed": seed, "sizes": sizes}


def collect(call, case, Ranker):
    torch.manual_seed(case.seed)
    facts = call(Ranker, *case.sizes)
    if not isinstance(net := facts.result, nn.Module):
        return facts
    net.to(case.X.device)
    # The attributes that torch does not register.
    own = {name: value for name, value in vars(net).items() if name not in vars(nn.Module())}
    tensors = [(name, value) for name, value in own.items() if isinstance(value, torch.Tensor)]
    layers = [
        {"name": name, "what": describe(value)}
        for name, value in own.items()
        if any(isinstance(x, nn.Module) and x not in {*net.modules()} for x in tree_leaves(value))
    ]
    if not tensors and not layers:
        facts = call(net, case.X.make(), name="Ranker")
        facts.result.sum().backward()
    return facts.add(tensors=tensors, layers=layers, saved=list(net.state_dict()), net=net)


def right(case):
    torch.manual_seed(case.seed)
    return sum(nn.Linear(*case.sizes)(case.X.values - 0.5) for _ in range(2))


returns = ("not-a-module", lambda value, case: not isinstance(value, Other))
side_effects = {
    "plain-tensor": lambda f: first({"name": name, "found": t.device} for name, t in f.tensors),
    "hidden-layers": lambda f: first(f.layers),
    "not-saved": lambda f: first(n not in f.saved and {"name": n} for n in ("mean", "gain")),
    "mean-is-learned": lambda f: f.net.gradients.get("mean") is not None,
    "not-learned": lambda f: first(
        name != "mean" and f.net.gradients.get(name) is None and {"name": name} for name in f.saved
    ),
    "gain-shape": lambda f: [*f.net.parameters["gain"].shape] != f.case.sizes[:1],
}
mistakes = {"different-scores": True}
hints = """
plain-tensor: After `net.to(...)`, `net.{name}` is still on {found}: the module does not move it.
    -> It is a plain attribute. Which kinds of tensors does a module register, and which is this?
hidden-layers: The module does not know the layers in `net.{name}`: it does not look inside {what}.
    -> They would not be moved, trained or saved. torch has a container for layers.
not-saved: `{name}` is not in `net.state_dict()`, so it would not be saved.
    -> Keep the given names. Where do you keep this tensor, and how is it registered?
mean-is-learned: After a training step, `mean` has changed: the optimizer updates it.
    -> It should move and be saved, but not be learned. What does torch call such a tensor?
not-learned: After a training step, `{name}` has not changed: no optimizer receives it.
    -> It should be learned by gradient descent. What does torch call a tensor that is learned?
gain-shape: `gain` does not have the shape of the given class.
    -> Each feature has its own factor. How many numbers does the given line create?
"""
