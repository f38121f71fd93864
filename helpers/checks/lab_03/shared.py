"""Lab 03, moving a network: what its exercises have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.core import Hint, Lab

IN_PLACE = "Modules move in place, tensors do not"
ALONG = "What comes along, and what stays behind"
OPTIMIZER = "Gradients and the optimizer"

NOT_A_MODULE = Hint(
    "not-a-module",
    "`Ranker(...)` makes a {what}, which is no `nn.Module`.",
    "Mend the class that was given and keep its first two lines.",
    ALONG,
)

OTHER_SCORES = Hint(
    "other-scores",
    "For the same input, `{name}` gives other numbers than the class that was given.",
    "What it computes was right. Change where things are kept or made, and nothing else.",
    ALONG,
)

NET_STAYS = Hint(
    "net-stays",
    "You asked for {wanted}; after `{name}`, the network is on {found}.",
    "The network that was handed in should move, and to the device that was handed in.",
    IN_PLACE,
)

STATE_BEHIND = Hint(
    "state-behind",
    "The network is on {wanted}, but the optimizer's `{entry}` stayed on {found}: the next step "
    "sees both.",
    "The network knows nothing of its optimizer. What puts each tensor of its memory where its "
    "parameter is?",
    OPTIMIZER,
)

NET_MOVED = Hint(
    "net-moved",
    "After `{name}`, the network is on {found}. It was on {given}, and should have stayed there.",
    "A network moves in place, for everybody who uses it. What else can go to where it is?",
    IN_PLACE,
)

lab = Lab("03_moving_a_network", seconds=20)


def net_and_optimizer(
    seed: int, name: str, device: torch.device
) -> tuple[nn.Module, torch.optim.Optimizer]:
    """A small network and an optimizer that remembers: "SGD", with momentum, or "Adam"."""
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2)).to(device)
    return net, make_optimizer(name, net)


def make_optimizer(name: str, net: nn.Module) -> torch.optim.Optimizer:
    """An optimizer of the network's parameters, in two groups."""
    first, *others = net.parameters()
    # Two groups with settings of their own.
    groups = [{"params": [first], "lr": 0.02}, {"params": others, "lr": 0.05}]
    if name == "SGD":
        return torch.optim.SGD(groups, momentum=0.9, weight_decay=0.01)
    return torch.optim.Adam(groups, betas=(0.8, 0.9))


def take_steps(net: nn.Module, optimizer: torch.optim.Optimizer, batch: Tensor, count: int) -> None:
    """Train for `count` steps towards answers of 1."""
    for _ in range(count):
        optimizer.zero_grad()
        ((net(batch) - 1) ** 2).mean().backward()
        optimizer.step()


def state_of(optimizer: torch.optim.Optimizer) -> dict[tuple[int, str], Tensor]:
    """The tensors that an optimizer remembers, by their parameter's number and their name."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    return {
        (number, key): value
        for number, parameter in enumerate(parameters)
        for key, value in optimizer.state.get(parameter, {}).items()
        if isinstance(value, Tensor)
    }


def on_cpu(state: Mapping[Any, Tensor]) -> dict[Any, Tensor]:
    """A copy of a state on the CPU."""
    return {key: tensor.detach().cpu().clone() for key, tensor in state.items()}


def close(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same numbers, as far as two devices can agree on them."""
    # A GPU may round the inputs of a product (TF32) and adds in another order.
    return torch.allclose(one.detach().cpu(), other.detach().cpu(), rtol=1e-2, atol=1e-2)
