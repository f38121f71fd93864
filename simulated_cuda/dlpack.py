"""DLPack: exchange within PyTorch works, but a GPU tensor cannot be exported as a capsule.

Other libraries read a tensor's memory through a capsule. A capsule from the simulated GPU would
have the CPU as its device, so a missing `.cpu()` would not raise an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .places import index_of

Tensor = torch.Tensor
_CPU = 1
_CUDA = 2


def handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return the handlers for the two methods that other libraries call."""
    return {Tensor.__dlpack__: dlpack, Tensor.__dlpack_device__: dlpack_device}


def dlpack(mode, func, args, kwargs):
    """`Tensor.__dlpack__`: a GPU tensor can only be exported as a copy on the CPU."""
    tensor = args[0]
    device_index = index_of(tensor)
    if device_index < 0:
        return func(*args, **kwargs)
    target = kwargs.get("dl_device")
    if target is None or target[0] != _CPU:
        _refuse(tensor)
    if kwargs.get("copy") is False:
        raise ValueError(
            f"cannot move (i.e. copy=False) tensor from cuda:{device_index} to cpu without copying."
        )
    return func(tensor.clone(), **{**kwargs, "stream": None})


def dlpack_device(mode, func, args, kwargs):
    """`Tensor.__dlpack_device__`: the DLPack device type and the device index."""
    device_index = index_of(args[0])
    return (_CUDA, device_index) if device_index >= 0 else func(*args, **kwargs)


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
            raise ValueError(
                f"cannot move DLPack tensor from device {ext_tensor.device} to {result.device} "
                "without copying. Set copy=None or copy=True."
            )
        return result.clone() if copy and result is ext_tensor else result.detach()

    return from_dlpack


def _refuse(tensor: Tensor) -> None:
    raise BufferError(
        f"Not simulated: a DLPack capsule of a tensor on cuda:{index_of(tensor)}. Other libraries "
        "cannot use the simulated GPU. Call Tensor.cpu() before you pass the tensor to another "
        "library."
    )
