"""A small network with its optimizer, and the optimizer's contents as plain data."""

import torch
from torch import nn

from helpers.checks.plain import first


def make_optimizer(net, name, scale=1.0):
    """Return "SGD" with momentum, or "Adam", with two groups that have their own learning rates."""
    weight, *others = net.parameters()
    groups = [{"params": [weight], "lr": 0.02 * scale}, {"params": others, "lr": 0.05 * scale}]
    if name == "SGD":
        return torch.optim.SGD(groups, momentum=0.9, weight_decay=0.01)
    return torch.optim.Adam(groups, betas=(0.8, 0.9))


def build(case, device="cpu", scale=1.0):
    """Return the network of a case and its optimizer."""
    torch.manual_seed(case.seed)
    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2)).to(device)
    return net, make_optimizer(net, case.name, scale)


def take_steps(net, optimizer, batch, count):
    """Train for `count` steps toward outputs of 1."""
    for _ in range(count):
        optimizer.zero_grad()
        ((net(batch) - 1) ** 2).mean().backward()
        optimizer.step()


def contents(optimizer):
    """Return the tensors in an optimizer's state by the number and key, and its settings."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    state = {
        f"{number} {key}": value.detach().clone()
        for number, parameter in enumerate(parameters)
        for key, value in optimizer.state.get(parameter, {}).items()
        if isinstance(value, torch.Tensor)
    }
    settings = [{k: v for k, v in g.items() if k != "params"} for g in optimizer.param_groups]
    return {"state": state, "settings": settings}


def state_left_behind(state, device):
    """Return the values of the hint for a state tensor that is not on the device."""
    # A step counter may stay on the CPU, as those of Adam do.
    return first(
        value.shape != ()
        and value.device != device
        and {"wanted": device, "found": value.device} | {"entry": key.split()[1]}
        for key, value in state.items()
    )


def changed_setting(found, given):
    """Return the values of the hint for the first setting that is not the given one."""
    return first(
        new.get(key) != value and {"key": key, "found": new.get(key), "given": value}
        for new, old in zip(found, given, strict=False)
        for key, value in old.items()
    )
