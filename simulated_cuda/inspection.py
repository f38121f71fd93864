"""Handlers for inspecting tensors: their device, their printed form, and their export.

Other libraries read a tensor through a DLPack capsule. That of a GPU tensor is refused, because
it would have the CPU as its device, so that a missing `.cpu()` would not raise an error.
"""

from collections.abc import Callable
from typing import Any

import torch

from .device_tags import device_at, device_of, index_of
from .messages import text

Tensor = torch.Tensor
# Device types of DLPack.
_DLPACK_CPU, _DLPACK_CUDA = 1, 2


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
        Tensor.__dlpack__: dlpack,
        Tensor.__dlpack_device__: dlpack_device,
        **dict.fromkeys(
            _DEVICE_INDEPENDENT, lambda mode, func, args, kwargs: func(*args, **kwargs)
        ),
    }


# Attributes that do not depend on the device and are not tensors. Handling them first saves time:
# optimizers read them many times per step.
_DEVICE_INDEPENDENT = (
    Tensor.dtype.__get__, Tensor.is_leaf.__get__, Tensor.is_sparse.__get__, Tensor.layout.__get__,
    Tensor.ndim.__get__, Tensor.requires_grad.__get__, Tensor.shape.__get__, Tensor.dim,
    Tensor.is_complex, torch.is_complex, Tensor.is_floating_point, torch.is_floating_point,
    Tensor.numel, Tensor.size, Tensor.untyped_storage,
)  # fmt: skip


def device(mode, func, args, kwargs):
    """`Tensor.device`."""
    device_index = index_of(args[0])
    return device_at(device_index) if device_index >= 0 else func(*args)


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


def _refuse_numpy(tensor: Tensor) -> None:
    if index_of(tensor) >= 0:
        raise TypeError(text("numpy", device_of(tensor)))


def numpy(mode, func, args, kwargs):
    """`Tensor.numpy(force=False)`: returns a copy if `force` is set."""
    if not kwargs.get("force", False):
        _refuse_numpy(args[0])
        return func(*args, **kwargs)
    result = func(*args, **kwargs)
    return result.copy() if index_of(args[0]) >= 0 else result


def array(mode, func, args, kwargs):
    """`Tensor.__array__`, which `np.asarray` and similar functions call."""
    _refuse_numpy(args[0])
    return func(*args, **kwargs)


def cuda_array_interface(mode, func, args, kwargs):
    """`Tensor.__cuda_array_interface__`: an AttributeError, so that `hasattr` returns False."""
    if index_of(args[0]) >= 0:
        raise AttributeError(text("array_interface", device_of(args[0])))
    return func(*args, **kwargs)


def dlpack(mode, func, args, kwargs):
    """`Tensor.__dlpack__`: a GPU tensor can only be exported as a copy on the CPU."""
    tensor = args[0]
    if index_of(tensor) < 0:
        return func(*args, **kwargs)
    target = kwargs.get("dl_device")
    if target is None or target[0] != _DLPACK_CPU:
        _refuse(tensor)
    if kwargs.get("copy") is False:
        raise ValueError(
            f"cannot move (i.e. copy=False) tensor from {device_of(tensor)} to cpu without copying."
        )
    return func(tensor.clone(), **{**kwargs, "stream": None})


def dlpack_device(mode, func, args, kwargs):
    """`Tensor.__dlpack_device__`: the DLPack device type and the device index."""
    device_index = index_of(args[0])
    return (_DLPACK_CUDA, device_index) if device_index >= 0 else func(*args, **kwargs)


def wrap_export(export: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function that creates a capsule, such as `torch.utils.dlpack.to_dlpack`."""

    def to_dlpack(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
        if index_of(tensor) >= 0:
            _refuse(tensor)
        return export(tensor, *args, **kwargs)

    return to_dlpack


def wrap_import(load: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `torch.from_dlpack` to share GPU tensors without a capsule."""

    def from_dlpack(ext_tensor: Any, **kwargs: Any) -> Tensor:
        if not isinstance(ext_tensor, Tensor) or index_of(ext_tensor) < 0:
            return load(ext_tensor, **kwargs)
        if ext_tensor.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        device, copy = kwargs.get("device"), kwargs.get("copy")
        result = ext_tensor.to(device or ext_tensor.device)
        if result is not ext_tensor and copy is False:
            raise ValueError(text("dlpack_copy", ext_tensor.device, result.device))
        return result.clone() if copy and result is ext_tensor else result.detach()

    return from_dlpack


def _refuse(tensor: Tensor) -> None:
    raise BufferError(text("dlpack", device_of(tensor)))
