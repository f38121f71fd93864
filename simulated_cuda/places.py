"""On which simulated device a tensor is: a note on its storage, so that views share it.

PyTorch keeps the Python object of a storage alive as long as the storage itself, so the note lives
exactly as long as the memory it speaks of, whoever holds it: a variable, a view, autograd's graph.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from weakref import WeakSet

import torch

from .memory import DeviceMemory

CPU = -1

storage_of = torch.Tensor.untyped_storage
# Types that have no say in what happens to them.
PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})


class Place:
    """Where a storage is: `index` is the simulated device, or `CPU`.

    `sure` is false for the place that a storage has for want of a note. `guessed` is true where a
    note was made while autograd ran: what it computes may pass from device to device without a
    copy, since all of it is on the CPU, and whoever looks at it last knows better.
    """

    __slots__ = ("__weakref__", "guessed", "index", "memory", "nbytes", "pinned", "sure")

    def __init__(self, index: int, sure: bool = True) -> None:
        self.index = index
        self.sure = sure
        self.guessed = self.pinned = False
        self.memory: DeviceMemory | None = None
        self.nbytes = 0

    def __del__(self) -> None:
        if self.memory is not None:
            self.memory.release(self.nbytes)


UNKNOWN = Place(CPU, sure=False)
_HOST = Place(CPU)
_on_devices: WeakSet[Place] = WeakSet()


class _Backward(threading.local):
    """How many backward passes are under way in this thread, one within the other."""

    depth = 0


backward = _Backward()


def install() -> None:
    """Give every storage the place that says nothing, until it gets a note of its own."""
    torch.UntypedStorage.place = UNKNOWN


def uninstall() -> None:
    """Take the default away again."""
    if "place" in vars(torch.UntypedStorage):
        del torch.UntypedStorage.place


def forget_all() -> None:
    """Let every storage that has a note be on the CPU: the devices are gone."""
    for place in _on_devices:
        place.index = CPU
    _on_devices.clear()


def place_of(tensor: torch.Tensor) -> Place:
    """The note on a tensor's storage; sparse tensors answer for their values."""
    # A subclass is not asked what it makes of the question.
    with torch._C.DisableTorchFunctionSubclass():
        try:
            return storage_of(tensor).place
        except (NotImplementedError, RuntimeError):
            return _place_without_storage(tensor)


def index_of(tensor: torch.Tensor) -> int:
    """The simulated device's number, or `CPU`."""
    if type(tensor) in PLAIN:
        try:
            return storage_of(tensor).place.index
        except (NotImplementedError, RuntimeError):
            pass
    return place_of(tensor).index


def _parts(tensor: torch.Tensor) -> Iterable[torch.Tensor]:
    """The tensors with a storage that a tensor without one is made of."""
    if tensor.layout == torch.sparse_coo:
        return (tensor._values(), tensor._indices())
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return (tensor.values(), tensor.crow_indices(), tensor.col_indices())
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return (tensor.values(), tensor.ccol_indices(), tensor.row_indices())
    inside = getattr(torch._C, "_functorch", None)
    if inside is not None and inside.is_functorch_wrapped_tensor(tensor):
        return (inside.get_unwrapped(tensor),)
    return ()


def _place_without_storage(tensor: torch.Tensor) -> Place:
    for part in _parts(tensor):
        return place_of(part)
    return UNKNOWN


def bytes_of(tensor: torch.Tensor, dtype: torch.dtype | None = None) -> int:
    """How many bytes the elements of a tensor take, as `dtype` if that is given."""
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.numel() * (dtype or tensor.dtype).itemsize


def put(
    tensor: torch.Tensor, index: int, memories: list[DeviceMemory], guess: bool = False
) -> None:
    """Note that a tensor's memory is on device `index`, unless it has a note already.

    Raises `torch.OutOfMemoryError` where the device has no room for it.
    """
    with torch._C.DisableTorchFunctionSubclass():
        try:
            storage = storage_of(tensor)
        except (NotImplementedError, RuntimeError):
            for part in _parts(tensor):
                put(part, index, memories, guess)
            return
        if storage.place.sure or tensor.is_meta:
            return
    move_storage(storage, index, memories, guess)


def move_storage(
    storage: torch.UntypedStorage, index: int, memories: list[DeviceMemory], guess: bool = False
) -> None:
    """Write the note, whatever was noted before, and count the memory."""
    if index == CPU:
        storage.place = _HOST
        return
    place = Place(index)
    place.guessed = guess
    memory = memories[index]
    nbytes = storage.nbytes()
    memory.claim(nbytes)
    place.memory = memory
    place.nbytes = nbytes
    _on_devices.add(place)
    storage.place = place


def put_all(results: object, index: int, memories: list[DeviceMemory], guess: bool = False) -> None:
    """`put` for every tensor in what an operation returned."""
    if isinstance(results, torch.Tensor):
        put(results, index, memories, guess)
    elif isinstance(results, tuple | list):
        for result in results:
            put_all(result, index, memories, guess)
    elif isinstance(results, dict):
        for result in results.values():
            put_all(result, index, memories, guess)
