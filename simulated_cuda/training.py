"""Training on several devices."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import messages
from .device_tags import device_at, index_of

Groups = dict[tuple[torch.device, torch.dtype], tuple[list[list[Any]], list[Any]]]


def wrap_grouping(group: Callable[..., Groups]) -> Callable[..., Groups]:
    """Wrap the function that groups an optimizer's tensors to use their simulated devices."""

    def group_by_device_and_dtype(lists: list[list[Any]], with_indices: bool = False) -> Groups:
        groups: Groups = {}
        for (device, dtype), (columns, indices) in group(lists, with_indices).items():
            # The mode would otherwise run for every tensor.
            with torch._C.DisableTorchFunction():
                device_indices = [index_of(tensor) for tensor in columns[0]]
            for device_index in dict.fromkeys(device_indices):
                key = (device if device_index < 0 else device_at(device_index), dtype)
                if device_indices.count(device_index) == len(device_indices):
                    groups[key] = (columns, indices)
                    break
                positions = [n for n, other in enumerate(device_indices) if other == device_index]
                groups[key] = (
                    [[column[n] for n in positions] if column else [] for column in columns],
                    [indices[n] for n in positions] if indices else [],
                )
        return groups

    return group_by_device_and_dtype


def wrap_init_process_group(initialize: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `torch.distributed.init_process_group` to use gloo, and reject NCCL."""

    def init_process_group(backend: str | None = None, *args: Any, **kwargs: Any) -> Any:
        if backend is not None and "nccl" in backend.lower():
            raise messages.not_simulated("the NCCL backend", 'Use backend="gloo" without a GPU.')
        # PyTorch would try to initialize a real device.
        kwargs.pop("device_id", None)
        return initialize(backend or "gloo", *args, **kwargs)

    return init_process_group


def scatter(
    tensor: torch.Tensor, devices: Sequence[Any], chunk_sizes: Sequence[int] | None = None,
    dim: int = 0, streams: Any = None,
) -> tuple[torch.Tensor, ...]:  # fmt: skip
    """Split a tensor along `dim` into one chunk per device, and move each chunk to its device."""
    parts = tensor.split(chunk_sizes, dim) if chunk_sizes else tensor.chunk(len(devices), dim)
    return tuple(part.to(device) for part, device in zip(parts, devices, strict=False))


def gather(tensors: Sequence[torch.Tensor], dim: int = 0, destination: Any = None) -> torch.Tensor:
    """Concatenate tensors from several devices on one: -1 is the CPU, None the current device."""
    target = {None: "cuda", -1: "cpu"}.get(destination, destination)
    return torch.cat([tensor.to(target) for tensor in tensors], dim)


def broadcast(
    tensor: torch.Tensor, devices: Sequence[Any] | None = None, *, out: Any = None
) -> tuple[torch.Tensor, ...]:
    """Copy a tensor to each device; for its current device, return the tensor itself."""
    return tuple(tensor.to(device) for device in devices or ())


def broadcast_coalesced(
    tensors: Sequence[torch.Tensor], devices: Sequence[Any], buffer_size: int = 0
) -> list[tuple[torch.Tensor, ...]]:
    """`broadcast` for several tensors: returns one tuple of tensors per device."""
    return [tuple(tensor.to(device) for tensor in tensors) for device in devices]


def reduce_add(inputs: Sequence[torch.Tensor], destination: Any = None) -> torch.Tensor:
    """Return the sum of tensors from several devices, on `destination`."""
    target = "cuda" if destination is None else destination
    return torch.stack([tensor.to(target) for tensor in inputs]).sum(0)


def reduce_add_coalesced(
    inputs: Sequence[Sequence[torch.Tensor]], destination: Any = None, buffer_size: int = 0
) -> tuple[torch.Tensor, ...]:
    """`reduce_add` for several lists of tensors."""
    return tuple(reduce_add(tensors, destination) for tensors in zip(*inputs, strict=True))


# Replace the functions of `torch.nn.parallel.comm` with the same names.
COMM = (scatter, gather, broadcast, broadcast_coalesced, reduce_add, reduce_add_coalesced)
