"""Optimizers of lesson 06: Muon for the filters, SGD for the rest, and the learning rate schedule.

Muon was developed by Keller Jordan and others (2024).
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from helpers.fast_cifar10.network import FastNet
from helpers.fast_cifar10.recipes import Settings


def orthogonalize(matrices: Tensor, steps: int = 3) -> Tensor:
    """Bring the singular values of matrices `(K, rows, columns)` near 1 (Newton-Schulz iteration).

    Needs only matrix products, which are fast on a GPU. With Jordan's coefficients the iteration
    does not converge: a few steps bring all but the smallest values to between 0.5 and 1.5.
    """
    x = matrices / (matrices.norm(dim=(1, 2), keepdim=True) + 1e-7)
    # The result is approximate anyway, and 16 bits are much faster. All values are near 1 or below,
    # so float16 is safe; a T4 has no tensor cores for bfloat16.
    if matrices.is_cuda:
        x = x.half()
    tall = x.shape[1] > x.shape[2]
    if tall:
        x = x.mT
    for _ in range(steps):
        products = x @ x.mT
        x = 3.4445 * x + (-4.775 * products + 2.0315 * products @ products) @ x
    return x.mT if tall else x


def normalize_updates(matrices: Tensor) -> Tensor:
    """Scale matrices `(K, rows, columns)` to the norm of orthogonal ones, without rotating them."""
    return F.normalize(matrices, dim=(1, 2)) * math.sqrt(min(matrices.shape[1:]))


class Muon(torch.optim.Optimizer):
    """SGD with Nesterov momentum whose updates are orthogonalized.

    A filter `(out, in, k, k)` is treated as a matrix `(out, in k k)`. Its norm is kept at the
    square root of `out`, so that `lr` is the relative size of a step. `direction` maps the momentum
    of filters of one shape, `(K, out, in k k)`, to updates.
    """

    def __init__(
        self,
        filters: Sequence[Tensor],
        lr: float,
        momentum: float,
        direction: Callable[[Tensor], Tensor] = orthogonalize,
    ) -> None:
        super().__init__(filters, {"lr": lr, "momentum": momentum})
        self.direction = direction
        shapes = sorted({tuple(p.shape) for p in filters})
        self.same_shape = [[p for p in filters if tuple(p.shape) == shape] for shape in shapes]

    @torch.no_grad()
    def step(self) -> None:
        """Update the filters from their gradients."""
        lr, momentum = self.param_groups[0]["lr"], self.param_groups[0]["momentum"]
        for filters in self.same_shape:  # one batched call per shape
            gradients = []
            for p in filters:
                state = self.state[p]
                if not state:  # the first step
                    state["momentum"] = torch.zeros_like(p)
                buffer = state["momentum"].mul_(momentum).add_(p.grad)
                gradients.append(p.grad.add(buffer, alpha=momentum).flatten(1))  # Nesterov
            for p, update in zip(filters, self.direction(torch.stack(gradients)), strict=True):
                p.mul_(math.sqrt(len(p)) / p.norm()).add_(update.view(p.shape), alpha=-lr)


def make_optimizers(
    net: FastNet,
    settings: Settings,
    batch_size: int,
    orthogonalize: Callable[[Tensor], Tensor] = orthogonalize,
) -> list[torch.optim.Optimizer]:
    """Return SGD for the biases and the head of `net`, and Muon for its filters.

    Each parameter group has its initial learning rate, `initial_lr`, and the fraction of the run
    after which the rate has decayed to zero, `decay_end`. The loss is summed over `batch_size`
    images; Muon calls `orthogonalize`, for example a compiled version.
    """
    filters = [p for p in net.parameters() if p.ndim == 4 and p.requires_grad]
    biases = [p for p in net.groups.parameters() if p.ndim == 1 and p.requires_grad]
    scale = net.head.in_features / batch_size
    bias_lr = settings.bias_lr * scale / (1 if settings.fast_biases else 64)
    groups = [
        {"params": [net.whiten.bias], "lr": bias_lr, "decay_end": settings.first_biases_until},
        {"params": biases, "lr": bias_lr, "decay_end": 1.0},
        {"params": [net.head.weight], "lr": settings.head_lr * scale, "decay_end": 1.0},
    ]
    for group in groups:  # SGD multiplies the decay by the learning rate; this cancels it
        group["weight_decay"] = settings.weight_decay / group["lr"]
    sgd = torch.optim.SGD(groups, momentum=0.85, nesterov=True, fused=True)
    direction = orthogonalize if settings.muon else normalize_updates
    muon = Muon(filters, settings.muon_lr, settings.muon_momentum, direction)
    muon.param_groups[0]["decay_end"] = 1.0
    for group in (*sgd.param_groups, *muon.param_groups):
        group["initial_lr"] = group["lr"]
    return [sgd, muon]


def set_learning_rates(
    optimizer: torch.optim.Optimizer, progress: float, *, lr_decay: bool = True
) -> None:
    """Set the learning rates after the fraction `progress` of a run, from 0 to 1.

    They decay linearly to zero; without `lr_decay`, they stay constant.
    """
    for group in optimizer.param_groups:
        end = group["decay_end"]
        factor = 1 - progress / end if lr_decay else float(progress < end)
        group["lr"] = group["initial_lr"] * max(0.0, factor)
