"""Handlers that create tensors on the requested or default device, if its memory is sufficient."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _device as default_device

from . import generators
from .places import CPU, Place, as_dtype, bytes_of, index_of, set_devices, storage_of

# Functions that share memory with their input if possible. On a GPU, the result must be a copy.
_MEMORY_SHARING = {torch.as_tensor, torch.asarray}
# For these, device memory is checked after the call, because their data is already in CPU memory.
_FROM_DATA = {torch.tensor, *_MEMORY_SHARING, torch.nested.nested_tensor}
# The extra element of each range (`torch.range` includes its end), and the position of `steps`.
_RANGES = {torch.arange: 0, torch.range: 1}
_SPACINGS = {torch.linspace: 2, torch.logspace: 2}


def handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return the handlers for all functions that create a tensor on the default device."""
    return dict.fromkeys(default_device._device_constructors(), make)


def make(mode, func, args, kwargs):
    """Run a function with a `device` argument: a factory, `zeros_like`, `Tensor.new_zeros`, ..."""
    kwargs = dict(kwargs)
    requested = kwargs.get("device")
    source = args[0] if args and isinstance(args[0], torch.Tensor) else None
    resolve = mode.machine.resolve
    device_index = _default_place(mode, func, source) if requested is None else resolve(requested)
    if device_index is None:
        # Another device type, such as meta, or an invalid argument: PyTorch handles both.
        return func(*args, **kwargs)
    if func in _MEMORY_SHARING and source is not None and index_of(source) != device_index:
        source = copy_to_device(mode, source, device_index)
        args = (source, *args[1:])
    pinned = kwargs.pop("pin_memory", False)
    generator = kwargs.get("generator")
    if generator is not None:
        check_generator(generator, device_index)
    kwargs["device"] = "cpu"
    if device_index >= 0 and func not in _FROM_DATA and not _is_small(args, kwargs):
        _check_memory(mode, func, args, kwargs, device_index)
    if device_index >= 0 and generator is None and func in generators.FACTORIES:
        with generators.use_default_generator(mode.machine, device_index):
            result = func(*args, **kwargs)
    else:
        result = func(*args, **kwargs)
    if device_index == CPU:
        if pinned:
            place = Place(CPU)
            place.pinned = True
            storage_of(result).place = place
        return result
    if func in _MEMORY_SHARING and result is not source:
        result = result.clone()
    set_devices(result, device_index, mode.memories)
    return result


def wrap_factory(mode, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `torch.nested.nested_tensor` and similar, which modes do not intercept."""

    def make_on_device(*args: Any, **kwargs: Any) -> Any:
        tensors = args[0] if args else None
        first = tensors[0] if isinstance(tensors, list | tuple) and tensors else None
        if isinstance(first, torch.Tensor) and kwargs.get("device") is None:
            kwargs["device"] = first.device
        result = make(mode, function, args, kwargs)
        device_index = index_of(result)
        if device_index >= 0 and result.layout == torch.jagged:
            set_devices(result.offsets(), device_index, mode.memories)
        return result

    return make_on_device


def copy_to_device(mode, tensor: torch.Tensor, device_index: int, dtype: torch.dtype | None = None):
    """Return a differentiable copy of `tensor` on the device with this index, as `.to` does."""
    if device_index >= 0:
        mode.memories[device_index].check(bytes_of(tensor, dtype))
    result = tensor.to(dtype or tensor.dtype, copy=True)
    if device_index >= 0:
        set_devices(result, device_index, mode.memories)
    return result


def check_generator(generator: torch.Generator, device_index: int) -> None:
    """Raise RuntimeError for a generator of another device type, as random operations do."""
    of_gpu = generator.device.type == "cuda"
    if of_gpu != (device_index >= 0):
        expected, found = ("cuda", "cpu") if device_index >= 0 else ("cpu", "cuda")
        raise RuntimeError(f"Expected a '{expected}' device type for generator but found '{found}'")


def _default_place(mode, func, source: torch.Tensor | None) -> int | None:
    """Return the index of the device for a tensor created without a `device` argument."""
    if source is not None:
        return index_of(source)
    default = default_device.CURRENT_DEVICE
    if default is not None and func in default_device._device_constructors():
        return mode.machine.resolve(default)
    return CPU


def _is_small(args: tuple, kwargs: dict) -> bool:
    """Return whether the arguments are integers and shapes for at most a million elements."""
    max_elements = 1
    named = (kwargs.get(name, ()) for name in ("size", "end", "steps"))
    for value in (*args, *named):
        for number in value if isinstance(value, list | tuple) else (value,):
            if type(number) is not int:
                return False
            max_elements *= abs(number) + 1
    return max_elements <= 1_000_000


def _check_memory(mode, func, args, kwargs, device_index: int) -> None:
    """Raise `torch.OutOfMemoryError` before the CPU allocates a tensor that does not fit."""
    if "generator" in kwargs or "out" in kwargs:
        return
    try:
        nbytes = _nbytes_of_range(func, args, kwargs)
        if nbytes is None:
            shape = func(*args, **{**kwargs, "device": "meta"})
            if not (isinstance(shape, torch.Tensor) and shape.layout == torch.strided):
                return
            nbytes = shape.untyped_storage().nbytes()
    except (ArithmeticError, RuntimeError, TypeError, ValueError, NotImplementedError):
        # An invalid argument, which the real call will report, or a function without a meta kernel.
        return
    mode.memories[device_index].check(nbytes)


def _nbytes_of_range(func, args, kwargs) -> int | None:
    """Return the size of `arange`, `linspace` and similar in bytes; None for other functions.

    The meta kernels of these functions import PyTorch's compiler, which takes seconds.
    """
    if func in _RANGES:
        bounds = dict(zip(("start", "end", "step"), args, strict=False))
        if len(args) == 1:
            bounds = {"end": args[0]}
        bounds |= {name: kwargs[name] for name in ("start", "end", "step") if name in kwargs}
        start, end, step = bounds.get("start", 0), bounds["end"], bounds.get("step", 1)
        count = math.ceil((end - start) / step) + _RANGES[func]
        integers = all(isinstance(value, int) for value in (start, end, step))
        default = torch.int64 if integers and func is torch.arange else torch.get_default_dtype()
    elif func in _SPACINGS:
        count = kwargs["steps"] if "steps" in kwargs else args[_SPACINGS[func]]
        default = torch.get_default_dtype()
    else:
        return None
    return int(count) * (as_dtype(kwargs.get("dtype")) or default).itemsize
