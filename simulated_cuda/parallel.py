"""Stand-ins for what `nn.DataParallel` uses to spread tensors over devices and collect them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


def scatter(
    tensor: torch.Tensor, devices: Sequence[Any], chunk_sizes: Sequence[int] | None = None,
    dim: int = 0, streams: Any = None,
) -> tuple[torch.Tensor, ...]:  # fmt: skip
    """Cut a tensor along `dim` into one part a device, and move each part to its device."""
    parts = tensor.split(chunk_sizes, dim) if chunk_sizes else tensor.chunk(len(devices), dim)
    return tuple(part.to(device) for part, device in zip(parts, devices, strict=False))


def gather(tensors: Sequence[torch.Tensor], dim: int = 0, destination: Any = None) -> torch.Tensor:
    """Join tensors from several devices on one; -1 is the CPU, None the current device."""
    target = {None: "cuda", -1: "cpu"}.get(destination, destination)
    return torch.cat([tensor.to(target) for tensor in tensors], dim)


def broadcast(
    tensor: torch.Tensor, devices: Sequence[Any] | None = None, *, out: Any = None
) -> tuple[torch.Tensor, ...]:
    """A copy of a tensor on each device; on its own device, the tensor itself."""
    return tuple(tensor.to(device) for device in devices or ())


def broadcast_coalesced(
    tensors: Sequence[torch.Tensor], devices: Sequence[Any], buffer_size: int = 0
) -> list[tuple[torch.Tensor, ...]]:
    """`broadcast` for several tensors: one tuple of them a device."""
    return [tuple(tensor.to(device) for tensor in tensors) for device in devices]


def reduce_add(inputs: Sequence[torch.Tensor], destination: Any = None) -> torch.Tensor:
    """The sum of tensors from several devices, on one."""
    target = "cuda" if destination is None else destination
    return torch.stack([tensor.to(target) for tensor in inputs]).sum(0)


def reduce_add_coalesced(
    inputs: Sequence[Sequence[torch.Tensor]], destination: Any = None, buffer_size: int = 0
) -> tuple[torch.Tensor, ...]:
    """`reduce_add` for several tensors at once."""
    return tuple(reduce_add(same, destination) for same in zip(*inputs, strict=True))


def replacements() -> dict[str, Callable[..., Any]]:
    """What takes the place of the functions of `torch.nn.parallel.comm`, by name."""
    functions = (scatter, gather, broadcast, broadcast_coalesced, reduce_add, reduce_add_coalesced)
    return {function.__name__: function for function in functions}
