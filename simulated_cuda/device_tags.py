"""The simulated device of each tensor, stored as an attribute of its storage and shared by views.

PyTorch keeps the Python object of a storage alive as long as the storage itself. The attribute
therefore has the same lifetime as the memory it describes, even if only a view or the autograd
graph references that memory.
"""

import threading
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from . import messages
from .memory import Block, DeviceMemory, DeviceTag, memories_in_use

CPU = -1
_OWNERS = (
    torch, torch.Tensor, F, torch.special, torch.linalg, torch._C._nn, torch._VF, torch.nn.init,
)  # fmt: skip

storage_of = torch.Tensor.untyped_storage
device_of_storage = torch.UntypedStorage.device.__get__
# Types without a `__torch_function__` of their own.
PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})


UNKNOWN = DeviceTag(CPU)
UNKNOWN.is_set = False
_ON_CPU = DeviceTag(CPU)


class _Thread(threading.local):
    """The state of this thread: the depth of nested backward passes, and the current operation."""

    backward_depth = 0
    # The device of the current operation, for hooks that PyTorch calls during the operation.
    running = CPU


thread = _Thread()


class DispatchMode(TorchDispatchMode):
    """A dispatch mode that does not import PyTorch's compiler, which takes seconds."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


def install() -> None:
    """Give every storage the default tag."""
    torch.UntypedStorage.device_tag = UNKNOWN


def uninstall() -> None:
    """Undo `install`, and set all tags to the CPU, because the devices no longer exist."""
    if "device_tag" in vars(torch.UntypedStorage):
        del torch.UntypedStorage.device_tag
    for memory in list(memories_in_use):
        for tag in memory.tags():
            tag.index, tag.memory = CPU, None


@cache
def device_at(index: int) -> torch.device:
    """Return the `torch.device` with this index; `CPU` is the CPU."""
    return torch.device("cpu") if index == CPU else torch.device("cuda", index)


def functions_named(names: Iterable[str]) -> frozenset[Callable[..., Any]]:
    """Return PyTorch's functions and methods with these names."""
    return frozenset(
        getattr(owner, name) for owner in _OWNERS for name in names if hasattr(owner, name)
    )


def tag_of(tensor: torch.Tensor) -> DeviceTag:
    """Return the tag of a tensor's storage; for a sparse tensor, the tag of its values."""
    # Without this, `untyped_storage` would call a subclass's __torch_function__.
    with torch._C.DisableTorchFunctionSubclass():
        try:
            return storage_of(tensor).device_tag
        except (NotImplementedError, RuntimeError):
            parts = _parts(tensor)
            return tag_of(parts[0]) if parts else UNKNOWN


def index_of(tensor: torch.Tensor) -> int:
    """Return the index of a tensor's simulated device, or `CPU`."""
    if type(tensor) in PLAIN:
        try:
            return storage_of(tensor).device_tag.index
        except (NotImplementedError, RuntimeError):
            pass
    return tag_of(tensor).index


def device_of(tensor: torch.Tensor) -> torch.device:
    """Return a tensor's simulated device, or the CPU."""
    return device_at(index_of(tensor))


def type_of(tensor: torch.Tensor) -> str:
    """Return a tensor's type, such as `torch.cuda.FloatTensor`."""
    with torch._C.DisableTorchFunction():
        name = tensor.type()
    return name.replace("torch.", "torch.cuda.", 1) if index_of(tensor) >= 0 else name


def _parts(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return the component tensors of a tensor without a storage, such as a sparse tensor."""
    if tensor.layout == torch.sparse_coo:
        return (tensor._values(), tensor._indices())
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return (tensor.values(), tensor.crow_indices(), tensor.col_indices())
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return (tensor.values(), tensor.ccol_indices(), tensor.row_indices())
    functorch = getattr(torch._C, "_functorch", None)
    if functorch is not None and functorch.is_functorch_wrapped_tensor(tensor):
        return (functorch.get_unwrapped(tensor),)
    return ()


def set_device(
    tensor: torch.Tensor, index: int, memories: list[DeviceMemory], guess: bool = False
) -> None:
    """Set a tensor's device to `index`, unless its device is already known.

    Raises `torch.OutOfMemoryError` if the tensor does not fit in the device's memory.
    """
    with torch._C.DisableTorchFunctionSubclass():
        try:
            storage = storage_of(tensor)
        except (NotImplementedError, RuntimeError):
            set_devices(_parts(tensor), index, memories, guess)
            return
        if storage.device_tag.is_set:
            return
        if device_of_storage(storage).type == "meta":
            if tensor.is_meta:
                return
            raise messages.fake_tensor_not_simulated()
    move_storage(storage, index, memories, guess)


def move_storage(
    storage: torch.UntypedStorage, index: int, memories: list[DeviceMemory], guess: bool = False
) -> None:
    """Set or replace a storage's tag, and allocate memory on that device."""
    before = storage.device_tag
    if index == CPU:
        storage.device_tag = _ON_CPU
    else:
        memories[index].allocate(storage, guess)
    if type(before) is Block and before.memory is not None:
        before.memory.release(before)


def set_devices(
    results: object, index: int, memories: list[DeviceMemory], guess: bool = False
) -> None:
    """Call `set_device` for every tensor in the results of an operation."""
    if isinstance(results, torch.Tensor):
        set_device(results, index, memories, guess)
    elif isinstance(results, tuple | list):
        for result in results:
            set_devices(result, index, memories, guess)
    elif isinstance(results, dict):
        set_devices(tuple(results.values()), index, memories, guess)
