"""Looking at tensors: the device they name, how they print, and what leaves PyTorch for NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .places import index_of

Tensor = torch.Tensor


def handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """The handlers for what tells where a tensor is, prints it, or hands its memory out."""
    return {
        Tensor.device.__get__: device,
        Tensor.is_cuda.__get__: is_cuda,
        Tensor.is_cpu.__get__: is_cpu,
        Tensor.get_device: get_device,
        torch.get_device: get_device,
        Tensor.__repr__: repr_,
        Tensor.__format__: format_,
        Tensor.numpy: numpy,
        Tensor.__array__: array,
        Tensor.__dlpack__: dlpack,
        Tensor.__dlpack_device__: dlpack_device,
    }


def device(mode, func, args, kwargs):
    """`Tensor.device`."""
    where = index_of(args[0])
    return mode.machine.devices[where] if where >= 0 else func(*args)


def is_cuda(mode, func, args, kwargs):
    """`Tensor.is_cuda`."""
    return index_of(args[0]) >= 0 or func(*args)


def is_cpu(mode, func, args, kwargs):
    """`Tensor.is_cpu`."""
    return index_of(args[0]) < 0 and func(*args)


def get_device(mode, func, args, kwargs):
    """`Tensor.get_device()`: the number of the GPU, -1 for the CPU."""
    tensor = args[0] if args else kwargs["input"]
    where = index_of(tensor)
    return where if where >= 0 else func(tensor)


def repr_(mode, func, args, kwargs):
    """`repr(tensor)`, with the mode on again so that the text names the device."""
    with mode:
        return torch._tensor_str._str(args[0], **kwargs)


def format_(mode, func, args, kwargs):
    """`f"{tensor}"` and `f"{tensor:.3f}"`."""
    tensor, spec = args
    if tensor.dim() == 0 and type(tensor) is Tensor:
        return format(tensor.item(), spec)
    with mode:
        return object.__format__(tensor, spec)


def _refuse_numpy(tensor: Tensor, where: int) -> None:
    if where >= 0:
        raise TypeError(
            f"can't convert cuda:{where} device type tensor to numpy. Use Tensor.cpu() to copy the "
            "tensor to host memory first."
        )


def numpy(mode, func, args, kwargs):
    """`Tensor.numpy(force=False)`: with `force`, a copy."""
    where = index_of(args[0])
    if not kwargs.get("force", False):
        _refuse_numpy(args[0], where)
        return func(*args, **kwargs)
    return func(*args, **kwargs).copy() if where >= 0 else func(*args, **kwargs)


def array(mode, func, args, kwargs):
    """What `np.asarray` and its kin call."""
    _refuse_numpy(args[0], index_of(args[0]))
    return func(*args, **kwargs)


def dlpack(mode, func, args, kwargs):
    """What `np.from_dlpack` calls; nobody else can read a simulated device's memory."""
    where = index_of(args[0])
    if where >= 0:
        raise BufferError(
            f"This tensor is on the simulated device cuda:{where}, which only this PyTorch knows. "
            "Use Tensor.cpu() before you hand it to another library."
        )
    return func(*args, **kwargs)


def dlpack_device(mode, func, args, kwargs):
    """The number of the kind of device in the DLPack standard (2 is CUDA), and the device's own."""
    where = index_of(args[0])
    return (2, where) if where >= 0 else func(*args, **kwargs)
