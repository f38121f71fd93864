"""Lab 03, exercise 2: a module whose mean, gain and heads move with it."""

import torch
from torch import nn

from helpers.checks.plain import PlainModule, describe, first, is_close, is_equal, is_tensor

answers = "Ranker(features, classes)"
points = 3
success = "Everything that the module registers moves with it and is saved."
section = "What moves with a network, and what does not"


class GivenRanker(nn.Module):
    """The class given in the exercise."""

    def __init__(self, features, classes):
        super().__init__()
        self.mean = torch.full((features,), 0.5)
        self.gain = torch.ones(features)
        self.heads = [nn.Linear(features, classes) for _ in range(2)]

    def forward(self, X):
        """Map `(N, features)` to `(N, classes)`."""
        X = (X - self.mean) * self.gain
        return sum(head(X) for head in self.heads)


def cases(draw):
    for device in draw.devices:
        features, classes = draw.sample(range(2, 9), 2)
        X = draw.normal(draw.randint(1, 5), features)
        yield {
            "device": device,
            "seed": draw.randrange(2**31),
            "X": X,
            "sizes": (features, classes),
        }


def collect(call, case, Ranker):
    torch.manual_seed(case.seed)
    facts = call(Ranker, *case.sizes)
    net, X = facts.result, case.X.make()
    if not isinstance(net, nn.Module):
        return facts
    before = call(net, X, name="Ranker").value
    call(net.to, case.device)
    facts.add(before=before, attributes=unregistered(net))
    if any(device != case.device for _, device, _ in facts.attributes if device):
        return facts
    facts.add(after=call(net, X.to(case.device), name="Ranker").value, net=net)
    optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.5)
    ((call(net, X.to(case.device), name="Ranker").result - 3) ** 2).sum().backward()
    optimizer.step()
    return facts.add(trained=net, saved=list(net.state_dict()))


def unregistered(net):
    """Return the attributes that torch does not register: name, device, what holds layers."""
    standard, modules = vars(nn.Module()), {*net.modules()}
    rows = []
    for module in net.modules():
        for name, value in vars(module).items():
            if name in standard:
                continue
            if isinstance(value, torch.Tensor):
                rows.append((name, str(value.device), ""))
            items = [*value.values()] if isinstance(value, dict) else value
            if isinstance(items, list | tuple | set) and any(
                isinstance(item, nn.Module) and item not in modules for item in items
            ):
                rows.append((name, "", describe(value)))
    return rows


def expected(case):
    torch.manual_seed(case.seed)
    return GivenRanker(*case.sizes)(case.X.values).detach()


def differs(f, name):
    scores = f.own.get(name)
    return not (is_tensor(scores) and is_close(scores, expected(f.case)))


def has_changed(f, name):
    tensors = [{**net.parameters, **net.buffers} for net in (f.net, f.trained)]
    return not is_equal(tensors[0][name], tensors[1][name])


returns = ("not-a-module", lambda value, case: isinstance(value, PlainModule))
side_effects = {
    "different-scores": lambda f: differs(f, "before"),
    "plain-tensor": lambda f: first(
        device and device != f.case.device and {"name": name, "found": device}
        for name, device, _ in f.attributes
    ),
    "hidden-layers": lambda f: first(
        what and {"name": name, "what": what} for name, _, what in f.attributes
    ),
    "not-saved": lambda f: first(
        name not in f.saved and {"name": name} for name in ("mean", "gain")
    ),
    "mean-is-learned": lambda f: has_changed(f, "mean"),
    "not-learned": lambda f: first(
        name != "mean" and not has_changed(f, name) and {"name": name} for name in f.saved
    ),
}
costs = {"different-scores": lambda f: differs(f, "after")}
hints = """
plain-tensor: After `net.to(...)`, `net.{name}` is still on {found}: the module does not move it.
    -> To the module, it is a plain attribute. Which kinds of tensors does a module register, and
    which kind is this one?
hidden-layers: The module does not know the layers in `net.{name}`: it does not look inside {what}.
    -> They would not be moved, trained or saved. torch has a container for layers.
not-learned: After a training step, `{name}` has not changed: no optimizer receives it.
    -> It should be learned by gradient descent. What does torch call a tensor that is learned?
mean-is-learned: After a training step, `mean` has changed: the optimizer updates it.
    -> It should move and be saved, but not be learned. What does torch call such a tensor?
not-saved: `{name}` is not in `net.state_dict()`, so it would not be saved.
    -> Keep the given names. Where does your class keep this tensor, and how is it registered with
    the module?
"""
