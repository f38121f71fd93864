"""Making tensors: on the device asked for or the default one, if they fit its memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _device as default_device

from .places import CPU, Place, bytes_of, index_of, put_all, storage_of

# These keep the memory of what they are given where they can; on a device it must be a copy.
_SHARING = {torch.as_tensor, torch.asarray}
# These take data, so what they make has been read from somewhere and fits.
_FROM_DATA = {torch.tensor, *_SHARING, torch.nested.nested_tensor}


def handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """A handler for every function that makes a tensor on the default device."""
    return dict.fromkeys(default_device._device_constructors(), make)


def make(mode, func, args, kwargs):
    """Run a function that takes a device: a factory, `zeros_like`, `Tensor.new_zeros`, ..."""
    kwargs = dict(kwargs)
    wanted = kwargs.get("device")
    source = args[0] if args and isinstance(args[0], torch.Tensor) else None
    resolve = mode.machine.resolve
    where = _unasked_place(mode, func, source) if wanted is None else resolve(wanted)
    if where is None:
        # Another kind of device, such as meta, or none that means anything: PyTorch's own matter.
        return func(*args, **kwargs)
    if func in _SHARING and source is not None and index_of(source) != where:
        source = moving_copy(mode, source, where)
        args = (source, *args[1:])
    pinned = kwargs.pop("pin_memory", False)
    generator = kwargs.get("generator")
    if generator is not None:
        check_generator(generator, where)
    kwargs["device"] = "cpu"
    if where >= 0 and func not in _FROM_DATA and not _is_small(args, kwargs.get("size", ())):
        _check_room(mode, func, args, kwargs, where)
    result = func(*args, **kwargs)
    if where == CPU:
        if pinned:
            place = Place(CPU)
            place.pinned = True
            storage_of(result).place = place
        return result
    if func in _SHARING and result is not source:
        result = result.clone()
    put_all(result, where, mode.memories)
    return result


def making(mode, function: Callable[..., Any]) -> Callable[..., Any]:
    """A factory that modes do not see, as one that they do."""

    def make_on_device(*args: Any, **kwargs: Any) -> Any:
        return make(mode, function, args, kwargs)

    return make_on_device


def moving_copy(mode, tensor: torch.Tensor, where: int, dtype: torch.dtype | None = None):
    """A copy of `tensor` on the device `where`, as `.to` makes it: autograd sees it."""
    if where >= 0:
        mode.memories[where].check(bytes_of(tensor, dtype))
    result = tensor.to(dtype or tensor.dtype, copy=True)
    if where >= 0:
        put_all(result, where, mode.memories)
    return result


def check_generator(generator: torch.Generator, where: int) -> None:
    """Refuse a generator of another kind of device, as every random operation does."""
    of_gpu = generator.device.type == "cuda"
    if of_gpu != (where >= 0):
        wanted, found = ("cuda", "cpu") if where >= 0 else ("cpu", "cuda")
        raise RuntimeError(f"Expected a '{wanted}' device type for generator but found '{found}'")


def _unasked_place(mode, func, source: torch.Tensor | None) -> int | None:
    """Where a tensor goes for which no device was asked."""
    if source is not None:
        return index_of(source)
    default = default_device.CURRENT_DEVICE
    if default is not None and func in default_device._device_constructors():
        return mode.machine.resolve(default)
    return CPU


def _is_small(args: tuple, size: Any) -> bool:
    """Whether the arguments, whole numbers and shapes, ask for a million numbers at most.

    Spares the first small `arange` of a program the import of torch's compiler, which describes on
    the device meta what `arange` makes and takes two seconds to load.
    """
    most = 1
    for value in (*args, size):
        for number in value if isinstance(value, list | tuple) else (value,):
            if type(number) is not int:
                return False
            most *= abs(number) + 1
    return most <= 1_000_000


def _check_room(mode, func, args, kwargs, where: int) -> None:
    """Refuse what is larger than the device before the CPU has to hold it."""
    if "generator" in kwargs or "out" in kwargs:
        return
    try:
        shape = func(*args, **{**kwargs, "device": "meta"})
    except (RuntimeError, TypeError, ValueError, NotImplementedError):
        # A wrong argument, which the call itself is to report, or no kernel for shapes alone.
        return
    if isinstance(shape, torch.Tensor) and shape.layout == torch.strided:
        mode.memories[where].check(shape.untyped_storage().nbytes())
