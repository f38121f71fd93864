"""Device handling of storages: creating, resizing, sharing, saving and loading them.

A checkpoint stores a device such as `cuda:0`, in PyTorch's file format: a file saved with a
simulated GPU can be loaded with a real one, and vice versa.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import serialization

from . import messages
from .device_tags import CPU, DeviceTag, device_at, index_of, move_storage, storage_of
from .machine import Machine

Tensor = torch.Tensor
# The position of the argument `device` of `Tensor._make_wrapper_subclass`.
_DEVICE_POSITION = 7
# Lower than the priority of PyTorch's CPU package (10), so that these functions run first.
_PRIORITY = 5


def handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return the handlers for tensor methods that resize a tensor's storage."""
    return {Tensor.resize_: resize_, Tensor.resize_as_: resize_}


def wrap_make_wrapper_subclass(mode, create: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Wrap `Tensor._make_wrapper_subclass`, which would create a tensor on a real GPU."""

    def make_wrapper_subclass(*args: Any, **kwargs: Any) -> Tensor:
        # torch.nested passes the device as a positional argument.
        positional = len(args) > _DEVICE_POSITION
        device = args[_DEVICE_POSITION] if positional else kwargs.get("device")
        device_index = None if device is None else mode.machine.resolve(device)
        if device_index is None or device_index == CPU:
            return create(*args, **kwargs)
        if positional:
            args = (*args[:_DEVICE_POSITION], "cpu", *args[_DEVICE_POSITION + 1 :])
        else:
            kwargs["device"] = "cpu"
        result = create(*args, **kwargs)
        # A wrapper has no memory of its own, so nothing is allocated for it.
        storage_of(result).device_tag = DeviceTag(device_index)
        return result

    return staticmethod(make_wrapper_subclass)


def wrap_make_subclass(create: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Wrap `Tensor._make_subclass` to reject a FakeTensor on CUDA, which needs the driver."""

    # The signature must match PyTorch's, or importing its compiler fails.
    def make_subclass(
        cls: type[Any], data: Tensor, requires_grad: bool = False, **kwargs: Any
    ) -> Any:
        device = kwargs.get("device_for_backend_keys")
        if device is not None and device.type == "cuda":
            raise messages.fake_tensor_not_simulated()
        return create(cls, data, requires_grad, **kwargs)

    return staticmethod(make_subclass)


def resize_(mode, func, args, kwargs):
    """`Tensor.resize_(*sizes)` and `Tensor.resize_as_(other)`, which may allocate memory."""
    device_index = index_of(args[0])
    result = func(*args, **kwargs)
    if device_index >= 0:
        _update_allocation(storage_of(result), device_index, mode.machine)
    return result


def _update_allocation(storage: torch.UntypedStorage, device_index: int, machine: Machine) -> None:
    """Update the allocated memory of a storage whose size may have changed."""
    if storage.device_tag.nbytes != storage.nbytes():
        move_storage(storage, device_index, machine.memories)


def replacements(machine: Machine) -> dict[str, Any]:
    """Return the replacements for attributes of `torch.UntypedStorage`, by name."""
    create, real_device = torch.UntypedStorage.__new__, torch.UntypedStorage.device
    resize = torch.UntypedStorage.resize_

    def __new__(cls: type, *args: Any, device: Any = None, **kwargs: Any) -> torch.UntypedStorage:
        device_index = None if device is None else machine.resolve(device)
        if device_index is None:
            options = {} if device is None else {"device": device}
            return create(cls, *args, **options, **kwargs)
        storage = create(cls, *args, device="cpu", **kwargs)
        if device_index != CPU:
            move_storage(storage, device_index, machine.memories)
        return storage

    def device(storage: torch.UntypedStorage) -> torch.device:
        device_index = storage.device_tag.index
        return device_at(device_index) if device_index >= 0 else real_device.__get__(storage)

    def resize_storage(storage: torch.UntypedStorage, size: int) -> torch.UntypedStorage:
        device_index = storage.device_tag.index
        result = resize(storage, size)
        if device_index >= 0:
            _update_allocation(storage, device_index, machine)
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


def install_in_files(machine: Machine) -> None:
    """Register the simulated devices with PyTorch's serialization."""

    def tag(storage: Any) -> str | None:
        inner = getattr(storage, "_untyped_storage", storage)
        device_index = inner.device_tag.index
        return None if device_index == CPU else f"cuda:{device_index}"

    def restore(storage: Any, location: str) -> Any:
        if not str(location).startswith("cuda"):
            return None
        # Raises PyTorch's own errors if CUDA is not available or has fewer devices.
        device = serialization._validate_device(location, "cuda")
        machine.touch()
        inner = getattr(storage, "_untyped_storage", storage)
        move_storage(inner, device.index or 0, machine.memories)
        return storage

    serialization.register_package(_PRIORITY, tag, restore)


def uninstall_from_files() -> None:
    """Undo `install_in_files`."""
    registry = serialization._package_registry
    registry[:] = [entry for entry in registry if entry[0] != _PRIORITY]
