"""The simulated device of each tensor, stored as an attribute of its storage and shared by views.

PyTorch keeps the Python object of a storage alive as long as the storage itself. The attribute
therefore has the same lifetime as the memory it describes, even if only a view or the autograd
graph references that memory.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from weakref import ref

import torch

from . import messages
from .blocks import Block
from .memory import DeviceMemory

CPU = -1

storage_of = torch.Tensor.untyped_storage
device_of_storage = torch.UntypedStorage.device.__get__
# Types without a `__torch_function__` of their own.
PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})


class Place:
    """The location of a storage: `index` is the index of the simulated device, or `CPU`.

    `is_set` is False for the default place, which every storage has until its device is set.
    `guessed` is True if the device was set during a backward pass. Autograd may then pass the same
    gradient from one device to another without a copy, since all data is on the CPU, so the device
    that was set last is correct.
    """

    # Every tensor on a GPU has its own place: slots save time and memory.
    __slots__ = (
        "__weakref__", "block", "guessed", "index", "is_set", "memory", "nbytes", "pinned",
    )  # fmt: skip

    def __init__(
        self, index: int, guessed: bool = False, nbytes: int = 0,
        memory: DeviceMemory | None = None, block: Block | None = None,
    ) -> None:  # fmt: skip
        self.index = index
        self.guessed = guessed
        self.nbytes = nbytes
        self.memory = memory
        self.block = block
        self.is_set = True
        self.pinned = False

    def __del__(self) -> None:
        if self.block is not None:
            _on_devices.pop(id(self), None)
            self.memory.release(self.block)


UNKNOWN = Place(CPU)
UNKNOWN.is_set = False
_HOST = Place(CPU)
# Places on simulated devices, by `id`. A WeakSet would be too slow, because its callbacks are
# written in Python.
_on_devices: dict[int, ref[Place]] = {}


class _Thread(threading.local):
    """The state of this thread: the depth of nested backward passes, and the current operation."""

    backward_depth = 0
    # The device of the current operation, for hooks that PyTorch calls during the operation.
    running = CPU


thread = _Thread()


def install() -> None:
    """Give every storage the default place."""
    torch.UntypedStorage.place = UNKNOWN


def uninstall() -> None:
    """Undo `install`."""
    if "place" in vars(torch.UntypedStorage):
        del torch.UntypedStorage.place


def forget_all() -> None:
    """Set the place of every storage to the CPU, because the devices no longer exist."""
    for reference in list(_on_devices.values()):
        place = reference()
        if place is not None:
            place.index = CPU
    _on_devices.clear()


def place_of(tensor: torch.Tensor) -> Place:
    """Return the place of a tensor's storage; for a sparse tensor, the place of its values."""
    # Without this, `untyped_storage` would call a subclass's __torch_function__.
    with torch._C.DisableTorchFunctionSubclass():
        try:
            return storage_of(tensor).place
        except (NotImplementedError, RuntimeError):
            return _place_without_storage(tensor)


def index_of(tensor: torch.Tensor) -> int:
    """Return the index of a tensor's simulated device, or `CPU`."""
    if type(tensor) in PLAIN:
        try:
            return storage_of(tensor).place.index
        except (NotImplementedError, RuntimeError):
            pass
    return place_of(tensor).index


def _parts(tensor: torch.Tensor) -> Iterable[torch.Tensor]:
    """Return the component tensors of a tensor without a storage, such as a sparse tensor."""
    if tensor.layout == torch.sparse_coo:
        return (tensor._values(), tensor._indices())
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return (tensor.values(), tensor.crow_indices(), tensor.col_indices())
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return (tensor.values(), tensor.ccol_indices(), tensor.row_indices())
    if tensor.layout == torch.jagged:
        return (tensor._values, tensor._offsets)
    functorch = getattr(torch._C, "_functorch", None)
    if functorch is not None and functorch.is_functorch_wrapped_tensor(tensor):
        return (functorch.get_unwrapped(tensor),)
    return ()


def _place_without_storage(tensor: torch.Tensor) -> Place:
    for part in _parts(tensor):
        return place_of(part)
    return UNKNOWN


# PyTorch accepts these types where it expects a dtype.
_DTYPES = {
    bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128,
}  # fmt: skip


def as_dtype(dtype: torch.dtype | type | None) -> torch.dtype | None:
    """Return the dtype that PyTorch uses for a Python number type; otherwise, `dtype` itself."""
    return _DTYPES.get(dtype, dtype)


def bytes_of(tensor: torch.Tensor, dtype: torch.dtype | type | None = None) -> int:
    """Return the size of a tensor's elements in bytes, after conversion to `dtype` if given."""
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.numel() * (as_dtype(dtype) or tensor.dtype).itemsize


def set_device(
    tensor: torch.Tensor, index: int, memories: list[DeviceMemory], guess: bool = False
) -> None:
    """Set a tensor's device to `index`, unless its place is already known.

    Raises `torch.OutOfMemoryError` if the tensor does not fit in the device's memory.
    """
    with torch._C.DisableTorchFunctionSubclass():
        if tensor.layout == torch.jagged:
            set_devices(_parts(tensor), index, memories, guess)
        try:
            storage = storage_of(tensor)
        except (NotImplementedError, RuntimeError):
            set_devices(_parts(tensor), index, memories, guess)
            return
        if storage.place.is_set:
            return
        if device_of_storage(storage).type == "meta":
            if tensor.is_meta:
                return
            raise messages.not_simulated("FakeTensor on CUDA", messages.ADVICE_ON_FAKE_TENSORS)
    move_storage(storage, index, memories, guess)


def move_storage(
    storage: torch.UntypedStorage, index: int, memories: list[DeviceMemory], guess: bool = False
) -> None:
    """Set or replace a storage's place, and allocate memory on that device."""
    if index == CPU:
        storage.place = _HOST
        return
    memory = memories[index]
    nbytes = storage.nbytes()
    storage.place = place = Place(index, guess, nbytes, memory, memory.allocate(nbytes))
    _on_devices[id(place)] = ref(place)


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
        for result in results.values():
            set_devices(result, index, memories, guess)
