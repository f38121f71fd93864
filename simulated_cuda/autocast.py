"""`torch.autocast("cuda")`: on the CPU the same operations get the lower precision.

PyTorch keeps one setting for each kind of device. The setting for CUDA is borrowed, operation by
operation, by the CPU, whose list of operations is nearly the same; those that CUDA runs in full
precision and the CPU does not are given full-precision arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from .places import backward, put_all

# CUDA's list of operations that autocast to float32 (torch.amp in PyTorch's documentation), as far
# as the CPU's list lacks them.
FULL_PRECISION: frozenset[Callable[..., Any]] = frozenset(
    {
        F.softmax, F.log_softmax, F.cross_entropy, F.nll_loss, F.layer_norm, F.group_norm,
        F.mse_loss, F.smooth_l1_loss, F.l1_loss, F.kl_div, F.binary_cross_entropy_with_logits,
        F.softplus, F.cosine_similarity, F.normalize,
        torch.softmax, torch.log_softmax, torch.Tensor.softmax, torch.Tensor.log_softmax,
        torch.exp, torch.Tensor.exp, torch.log, torch.Tensor.log, torch.log1p, torch.log2,
        torch.log10, torch.pow, torch.Tensor.pow, torch.Tensor.__pow__, torch.sum, torch.Tensor.sum,
        torch.cumsum, torch.cumprod, torch.prod, torch.norm, torch.Tensor.norm, torch.rsqrt,
        torch.reciprocal, torch.layer_norm, torch.group_norm, torch.erfinv, torch.cdist,
    }
)  # fmt: skip


class _State:
    """Whether autocasting for CUDA was ever turned on: until then nobody need look."""

    used = False


state = _State()


def remember(set_enabled: Callable[..., Any]) -> Callable[..., Any]:
    """PyTorch's switch for autocasting, noting that it was used."""

    def switch(*args: Any, **kwargs: Any) -> Any:
        state.used = True
        return set_enabled(*args, **kwargs)

    return switch


def run(mode, func: Callable[..., Any], args: tuple, kwargs: dict, where: int) -> Any:
    """Run one operation on a simulated device as autocasting for CUDA would have it."""
    if func in FULL_PRECISION:
        args = tuple(_as_full(value) for value in args)
        kwargs = {name: _as_full(value) for name, value in kwargs.items()}
    before = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    _set_cpu(True, torch.get_autocast_dtype("cuda"))
    try:
        result = func(*args, **kwargs)
    finally:
        _set_cpu(*before)
    put_all(result, where, mode.memories, guess=backward.depth > 0)
    return result


def _set_cpu(enabled: bool, dtype: torch.dtype) -> None:
    torch.set_autocast_enabled("cpu", enabled)
    torch.set_autocast_dtype("cpu", dtype)


def _as_full(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype in (torch.float16, torch.bfloat16):
        return value.float()
    return value
