"""Storages: their device, creating and resizing them, and tensors that take over a storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import messages
from .machine import Machine
from .places import CPU, index_of, move_storage, put_all, storage_of

Tensor = torch.Tensor


def handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """The handlers for tensor methods that change the storage of a tensor."""
    return {Tensor.set_: set_, Tensor.resize_: resize_, Tensor.resize_as_: resize_}


def set_(mode, func, args, kwargs):
    """`Tensor.set_(source)`, which must be on the tensor's device."""
    tensor = args[0]
    source = args[1] if len(args) > 1 else kwargs.get("source")
    here = index_of(tensor)
    if source is None:
        result = func(*args, **kwargs)
        if here >= 0:
            put_all(result, here, mode.memories)
        return result
    there = index_of(source) if isinstance(source, Tensor) else _untyped(source).place.index
    if here != there and (storage_of(tensor).nbytes() or not isinstance(source, Tensor)):
        name = mode.machine.name
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{name(here)}" to a storage on '
            f'different device "{name(there)}".  This is no longer allowed; the devices must match.'
        )
    return func(*args, **kwargs)


def _untyped(storage: Any) -> torch.UntypedStorage:
    return getattr(storage, "_untyped_storage", storage)


def resize_(mode, func, args, kwargs):
    """`Tensor.resize_(*sizes)` and `Tensor.resize_as_(other)`, which may allocate memory."""
    where = index_of(args[0])
    result = func(*args, **kwargs)
    if where >= 0:
        _account(storage_of(result), where, mode.machine)
    return result


def _account(storage: torch.UntypedStorage, where: int, machine: Machine) -> None:
    """Correct the memory accounting of a storage whose size may have changed."""
    if storage.place.nbytes != storage.nbytes():
        move_storage(storage, where, machine.memories)


def replacements(machine: Machine) -> dict[str, Any]:
    """The replacements of attributes of `torch.UntypedStorage`, by name."""
    create, real_device = torch.UntypedStorage.__new__, torch.UntypedStorage.device
    resize = torch.UntypedStorage.resize_

    def __new__(cls: type, *args: Any, device: Any = None, **kwargs: Any) -> torch.UntypedStorage:
        where = None if device is None else machine.resolve(device)
        if where is None:
            options = {} if device is None else {"device": device}
            return create(cls, *args, **options, **kwargs)
        storage = create(cls, *args, device="cpu", **kwargs)
        if where != CPU:
            move_storage(storage, where, machine.memories)
        return storage

    def device(storage: torch.UntypedStorage) -> torch.device:
        where = storage.place.index
        return machine.devices[where] if where >= 0 else real_device.__get__(storage)

    def resize_storage(storage: torch.UntypedStorage, size: int) -> torch.UntypedStorage:
        where = storage.place.index
        result = resize(storage, size)
        if where >= 0:
            _account(storage, where, machine)
        return result

    def share(storage: torch.UntypedStorage, *args: Any) -> Any:
        raise messages.not_simulated(
            "sharing GPU tensors between processes",
            "Move the tensor with .cpu() before you send it to another process.",
        )

    return {
        "__new__": staticmethod(__new__),
        "device": property(device),
        "resize_": resize_storage,
        "_share_cuda_": share,
    }
