"""The `Lab` of lab 03 and its hints, and shared networks, optimizers and training steps."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.hints import read_hints
from helpers.checks.lab import Lab

lab = Lab("03_moving_a_network", read_hints(Path(__file__).parent), seconds=20)


def net_and_optimizer(
    seed: int, name: str, device: torch.device, *, scale: float = 1.0
) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return a small network and its optimizer: "SGD", with momentum, or "Adam".

    `scale` multiplies the learning rates.
    """
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2)).to(device)
    return net, make_optimizer(name, net, scale=scale)


def make_optimizer(name: str, net: nn.Module, *, scale: float = 1.0) -> torch.optim.Optimizer:
    """Return an optimizer for the network's parameters, in two groups with their own settings."""
    first, *others = net.parameters()
    groups = [
        {"params": [first], "lr": 0.02 * scale},
        {"params": others, "lr": 0.05 * scale},
    ]
    if name == "SGD":
        return torch.optim.SGD(groups, momentum=0.9, weight_decay=0.01)
    return torch.optim.Adam(groups, betas=(0.8, 0.9))


def take_steps(net: nn.Module, optimizer: torch.optim.Optimizer, batch: Tensor, count: int) -> None:
    """Train for `count` steps toward outputs of 1."""
    for _ in range(count):
        optimizer.zero_grad()
        ((net(batch) - 1) ** 2).mean().backward()
        optimizer.step()


def state_of(optimizer: torch.optim.Optimizer) -> dict[tuple[int, str], Tensor]:
    """Return the tensors in an optimizer's state, by their parameter's index and their key."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    return {
        (number, key): value
        for number, parameter in enumerate(parameters)
        for key, value in optimizer.state.get(parameter, {}).items()
        if isinstance(value, Tensor)
    }


def on_cpu(state: Mapping[Any, Tensor]) -> dict[Any, Tensor]:
    """Return a copy of a state on the CPU."""
    return {key: tensor.detach().cpu().clone() for key, tensor in state.items()}
