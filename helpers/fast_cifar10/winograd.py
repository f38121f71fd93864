"""3x3 convolutions of small maps with fewer multiplications, for a CPU.

By S. Winograd, 1980; for networks: Lavin and Gray, Fast Algorithms for Convolutional Neural
Networks, 2015 (arXiv 1509.09308).
"""

from functools import cache

import torch
from torch import Tensor

SIZES = (2, 4, 8)  # widths of the maps for which this is faster than PyTorch's convolution
# By number of outputs: in a row, they are A ((G w) * (B x)), for 3 weights w and 2 more inputs x
# than outputs. Lavin and Gray's F(4, 3) has 6 products instead of 12. Two outputs between zeros
# share the product w1 (x0 + x1).
_B = {2: [[0, 1, 1, 0], [0, 0, 1, 0], [0, 1, 0, 0]]}
_B[4] = [[4, 0, -5, 0, 1, 0], [0, -4, -4, 1, 1, 0], [0, 4, -4, -1, 1, 0]]
_B[4] += [[0, -2, -1, 2, 1, 0], [0, 2, -1, -2, 1, 0], [0, 4, 0, -5, 0, 1]]
_G = {2: [[0, 1, 0], [0, -1, 1], [1, -1, 0]]}
_G[4] = [[1 / 4, 0, 0], [-1 / 6, -1 / 6, -1 / 6], [-1 / 6, 1 / 6, -1 / 6]]
_G[4] += [[1 / 24, 1 / 12, 1 / 6], [1 / 24, -1 / 12, 1 / 6], [0, 0, 1]]
_A = {2: [[1, 1, 0], [1, 0, 1]]}
_A[4] = [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]]


def conv3x3(x: Tensor, weight: Tensor) -> Tensor:
    """Return `F.conv2d(x, weight, padding=1)` up to rounding, channels last in memory.

    `x` is float32 `(N, C, S, S)`, S one of `SIZES`; `weight` is `(D, C, 3, 3)`.
    """
    if x.requires_grad:  # otherwise its gradient has the layout of the products, which is slow
        x.register_hook(lambda grad: grad.contiguous(memory_format=torch.channels_last))
    images, channels, size, _ = x.shape
    b, g, a = _matrices(size)
    points, k = len(b), len(g)
    v = _transform(b, x.permute(2, 3, 0, 1)).view(points * k, -1, channels)
    u = _transform(g, weight.permute(2, 3, 1, 0)).view(k, 1, k, channels, -1)
    u = u.expand(-1, points // k, -1, -1, -1).reshape(points * k, channels, -1)
    y = _transform(a, (v @ u).view(points, points, -1)).view(size, size, images, -1)
    return y.permute(2, 3, 0, 1).contiguous(memory_format=torch.channels_last)


def _transform(matrix: Tensor, x: Tensor) -> Tensor:
    """Apply a matrix `(P, S)` to rows and columns of `x`, `(S, S, ...)`; return `(P, P, -1)`."""
    return matrix @ (matrix @ x.reshape(len(x), -1)).view(len(matrix), len(x), -1)


@cache
def _matrices(size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return B, G and A for a whole row, whose neighbors are zeros."""
    n = min(size, 4)
    small_b, g, small_a = (torch.tensor(matrices[n]).float() for matrices in (_B, _G, _A))
    # The same row of all tiles together, so that the products are large.
    b = (small_b @ torch.eye(size + 2).unfold(0, n + 2, n).mT).transpose(0, 1)
    a = (torch.eye(size).unfold(0, n, n) @ small_a).permute(1, 2, 0)
    return b.reshape(-1, size + 2)[:, 1:-1].contiguous(), g, a.reshape(size, -1)
