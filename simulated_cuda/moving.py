"""Handlers for moving tensors between devices: `.to`, `.cuda`, `.cpu`, `.type`, pinned memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .factories import copy_to_device
from .places import CPU, Place, as_dtype, bytes_of, index_of, place_of, set_devices, storage_of

Tensor = torch.Tensor


def handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return the handlers for functions that move tensors or accept several devices."""
    return {
        Tensor.to: to,
        Tensor.cuda: cuda,
        Tensor.cpu: cpu,
        Tensor.type: type_,
        Tensor.type_as: type_as,
        Tensor.pin_memory: pin_memory,
        Tensor.is_pinned: is_pinned,
        Tensor.share_memory_: share_memory,
        Tensor.is_shared: is_shared,
        Tensor.copy_: copy_,
    }


def is_shared(mode, func, args, kwargs):
    """`Tensor.is_shared`, which is always True on a GPU."""
    return index_of(args[0]) != CPU or func(*args, **kwargs)


def copy_(mode, func, args, kwargs):
    """`Tensor.copy_`: accepts any two devices; the destination stays on its device."""
    return func(*args, **kwargs)


def to(mode, func, args, kwargs):
    """`Tensor.to` with a device, a dtype, both, or another tensor, and all keyword arguments."""
    tensor, rest = args[0], list(args[1:])
    options = dict(kwargs)
    device, dtype = options.pop("device", None), options.pop("dtype", None)
    other = options.pop("other", None)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    elif rest and isinstance(as_dtype(rest[0]), torch.dtype):
        dtype = rest.pop(0)
    elif rest:
        device = rest.pop(0)
        if rest and not isinstance(rest[0], bool):
            dtype = rest.pop(0)
    if other is not None:
        dtype = other.dtype
        device = mode.machine.name(index_of(other)) if other.device.type == "cpu" else other.device
    # The remaining positional arguments are the flags non_blocking and copy, in this order.
    copy = options.get("copy", rest[1] if len(rest) > 1 else False)
    device_index = mode.machine.resolve(device)
    if (device_index is None and device is not None) or tensor.device.type != "cpu":
        return _to_device_not_simulated(func, tensor, device, dtype, options)
    source = index_of(tensor)
    target = source if device_index is None else device_index
    if target >= 0 and target != source:
        mode.memories[target].check(bytes_of(tensor, dtype))
    result = tensor.to(
        dtype or tensor.dtype, copy=copy or target != source,
        memory_format=options.get("memory_format") or torch.preserve_format,
    )  # fmt: skip
    if result is not tensor:
        _set_device(mode, result, target)
    return result


def _to_device_not_simulated(func, tensor, device, dtype, options):
    """Move a tensor to or from a device that is not simulated, such as meta."""
    if (isinstance(device, torch.device) and device.type == "cuda") or (
        isinstance(device, str) and device.startswith("cuda")
    ):
        device = "cpu"
    arguments = {"device": device, "dtype": dtype}
    return func(tensor, **{k: v for k, v in arguments.items() if v is not None}, **options)


def wrap_parse_to(mode, parse: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function that parses the arguments of `Module.to`.

    `Module.to` also accepts an example tensor, whose simulated device must be used.
    """

    def parse_to(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], int) and not isinstance(args[0], bool):
            args = (torch.device("cuda", args[0]), *args[1:])
        # The parser calls the mode, which would replace the argument `device`.
        with torch._C.DisableTorchFunction():
            device, *rest = parse(*args, **kwargs)
        for value in (*args, *kwargs.values()):
            if isinstance(value, Tensor) and index_of(value) >= 0:
                device = mode.machine.name(index_of(value))
        return device, *rest

    return parse_to


def _set_device(mode, result: Tensor, device_index: int) -> None:
    if device_index >= 0:
        set_devices(result, device_index, mode.memories, guess=False)


def cuda(mode, func, args, kwargs):
    """`Tensor.cuda(device=None, non_blocking=False)`."""
    tensor = args[0]
    device = args[1] if len(args) > 1 else kwargs.get("device")
    device_index = mode.machine.current if device is None else mode.machine.resolve(device)
    if device_index is None or device_index == CPU:
        raise RuntimeError("Invalid device, must be cuda device")
    mode.machine.touch()
    if index_of(tensor) == device_index:
        return tensor
    return copy_to_device(mode, tensor, device_index)


def cpu(mode, func, args, kwargs):
    """`Tensor.cpu()`: returns the tensor itself if it is on the CPU."""
    tensor = args[0]
    if index_of(tensor) == CPU:
        return func(*args, **kwargs)
    return copy_to_device(mode, tensor, CPU)


def type_(mode, func, args, kwargs):
    """`Tensor.type()`, which returns a name that includes the device, and `Tensor.type(dtype)`."""
    tensor = args[0]
    target = args[1] if len(args) > 1 else kwargs.get("dtype")
    source = index_of(tensor)
    if target is None:
        name = func(tensor)
        return name.replace("torch.", "torch.cuda.", 1) if source >= 0 else name
    device_index = source
    if (isinstance(target, str) and "." in target) or isinstance(target, type):
        name = target if isinstance(target, str) else f"{target.__module__}.{target.__qualname__}"
        on_gpu = name.startswith("torch.cuda.")
        device_index = (source if source >= 0 else mode.machine.current) if on_gpu else CPU
        target = getattr(torch, name.rpartition(".")[2]).dtype
    elif not isinstance(target, torch.dtype):
        target = getattr(target, "dtype", target)
    if device_index != source:
        return copy_to_device(mode, tensor, device_index, target)
    result = func(tensor, target)
    if result is not tensor:
        _set_device(mode, result, source)
    return result


def type_as(mode, func, args, kwargs):
    """`Tensor.type_as(other)`: takes the dtype and the device of `other`."""
    return to(mode, Tensor.to, args, kwargs)


def pin_memory(mode, func, args, kwargs):
    """`Tensor.pin_memory()`: returns a copy marked as pinned; only CPU tensors can be pinned."""
    tensor = args[0]
    place = place_of(tensor)
    if index_of(tensor) >= 0:
        kind = tensor.type().replace("torch.", "torch.cuda.", 1)
        raise RuntimeError(f"cannot pin '{kind}' only dense CPU tensors can be pinned")
    if place.pinned:
        return tensor
    result = tensor.clone()
    pinned = Place(CPU)
    pinned.pinned = True
    storage_of(result).place = pinned
    return result


def is_pinned(mode, func, args, kwargs):
    """`Tensor.is_pinned()`."""
    return place_of(args[0]).pinned


def share_memory(mode, func, args, kwargs):
    """`Tensor.share_memory_()`: does nothing for tensors on a GPU."""
    return args[0] if index_of(args[0]) >= 0 else func(*args, **kwargs)


def set_to_cpu_if_unknown(tensor: Tensor) -> None:
    """Set a gradient's device to the CPU, unless it is known, before its tensor moves away."""
    if not place_of(tensor).is_set:
        set_devices(tensor, CPU, [])
