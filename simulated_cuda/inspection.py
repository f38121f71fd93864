"""Handlers for inspecting tensors: their device, their printed form, and conversion to NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .places import index_of

Tensor = torch.Tensor


def handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return the handlers for functions that report a tensor's device, print or export it."""
    return {
        Tensor.device.__get__: device,
        Tensor.is_cuda.__get__: is_cuda,
        Tensor.is_cpu.__get__: is_cpu,
        Tensor.get_device: get_device,
        torch.get_device: get_device,
        Tensor.item: item,
        Tensor.__repr__: repr_,
        Tensor.__format__: format_,
        Tensor.numpy: numpy,
        Tensor.__array__: array,
        Tensor.__cuda_array_interface__.__get__: cuda_array_interface,
        **dict.fromkeys(_DEVICE_INDEPENDENT, run_unchanged),
    }


# Attributes that do not depend on the device and are not tensors. Handling them first saves time:
# optimizers read them many times per step.
_DEVICE_INDEPENDENT = (
    Tensor.dtype.__get__, Tensor.is_leaf.__get__, Tensor.is_sparse.__get__, Tensor.layout.__get__,
    Tensor.ndim.__get__, Tensor.requires_grad.__get__, Tensor.shape.__get__, Tensor.dim,
    Tensor.is_complex, torch.is_complex, Tensor.is_floating_point, torch.is_floating_point,
    Tensor.numel, Tensor.size, Tensor.untyped_storage,
)  # fmt: skip


def run_unchanged(mode, func, args, kwargs):
    """An attribute of a tensor that does not depend on its device, such as `Tensor.shape`."""
    return func(*args, **kwargs)


def device(mode, func, args, kwargs):
    """`Tensor.device`."""
    device_index = index_of(args[0])
    return mode.machine.devices[device_index] if device_index >= 0 else func(*args)


def is_cuda(mode, func, args, kwargs):
    """`Tensor.is_cuda`."""
    return index_of(args[0]) >= 0 or func(*args)


def is_cpu(mode, func, args, kwargs):
    """`Tensor.is_cpu`."""
    return index_of(args[0]) < 0 and func(*args)


def get_device(mode, func, args, kwargs):
    """`Tensor.get_device()`: the index of the GPU, or -1 for the CPU."""
    tensor = args[0] if args else kwargs["input"]
    device_index = index_of(tensor)
    return device_index if device_index >= 0 else func(tensor)


def item(mode, func, args, kwargs):
    """`Tensor.item()`: returns a Python number."""
    device_index = index_of(args[0])
    return mode.run(func, args, kwargs, device_index) if device_index >= 0 else func(*args)


def repr_(mode, func, args, kwargs):
    """`repr(tensor)`, with the mode active so that the text includes the device."""
    with mode:
        return torch._tensor_str._str(args[0], **kwargs)


def format_(mode, func, args, kwargs):
    """`f"{tensor}"` and `f"{tensor:.3f}"`."""
    tensor, spec = args
    if tensor.dim() == 0 and type(tensor) is Tensor:
        return format(tensor.item(), spec)
    with mode:
        return object.__format__(tensor, spec)


def _refuse_numpy(tensor: Tensor, device_index: int) -> None:
    if device_index >= 0:
        raise TypeError(
            f"can't convert cuda:{device_index} device type tensor to numpy. Use Tensor.cpu() to "
            "copy the tensor to host memory first."
        )


def numpy(mode, func, args, kwargs):
    """`Tensor.numpy(force=False)`: returns a copy if `force` is set."""
    device_index = index_of(args[0])
    if not kwargs.get("force", False):
        _refuse_numpy(args[0], device_index)
        return func(*args, **kwargs)
    return func(*args, **kwargs).copy() if device_index >= 0 else func(*args, **kwargs)


def array(mode, func, args, kwargs):
    """`Tensor.__array__`, which `np.asarray` and similar functions call."""
    _refuse_numpy(args[0], index_of(args[0]))
    return func(*args, **kwargs)


def cuda_array_interface(mode, func, args, kwargs):
    """`Tensor.__cuda_array_interface__`: an AttributeError, so that `hasattr` returns False."""
    device_index = index_of(args[0])
    if device_index >= 0:
        raise AttributeError(
            f"Not simulated: __cuda_array_interface__ of a tensor on cuda:{device_index}. "
            "Other libraries cannot use the simulated GPU. Call Tensor.cpu() before you pass the "
            "tensor to another library."
        )
    return func(*args, **kwargs)
