"""Plain data that a process with a student's code sends: values in, values out, never classes.

`Encoder` runs in the answer's process and turns a value into what JSON can hold. `Decoder` runs in
the judge's process and builds tensors, arrays, numbers, strings and containers from it. Nothing is
unpickled. An object of any other class stays where it is: the judge gets its class's name, and a
number by which it can pass the object on to later calls.
"""

from __future__ import annotations

import base64
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

_MOST_ITEMS = 300_000
_DEEPEST = 40
_MOST_NUMBERS = 1 << 26
_LARGEST_INT = 1 << 4096
_KINDS = {"l": list, "t": tuple, "s": set}


class Malformed(Exception):
    """What was received is not what an `Encoder` writes."""


# The bytes of a tensor in the order of its indices, its dtype, its shape, its device.
Numbers = tuple[bytes, str, tuple[int, ...], str]


def numbers_of(tensor: Tensor) -> Numbers:
    """What `tensor_of` needs to build this tensor again."""
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
    dtype = str(tensor.dtype).removeprefix("torch.")
    return data, dtype, tuple(tensor.shape), str(tensor.device)


def tensor_of(data: bytes, dtype: str, shape: Sequence[int], device: str) -> Tensor:
    """A new tensor with these numbers."""
    kind = _dtype(dtype)
    if not data:
        return torch.empty(tuple(shape), dtype=kind, device=device)
    with warnings.catch_warnings():
        # The memory cannot be written to; the copy can.
        warnings.simplefilter("ignore", UserWarning)
        tensor = torch.frombuffer(data, dtype=kind).reshape(tuple(shape))
    return tensor.clone() if device == "cpu" else tensor.to(device)


class Encoder:
    """Encodes the values of one message.

    Args:
        known: objects that the judge has too, each encoded as its place in this list.
        sent: for some of the known tensors, by `id`, what `numbers_of` returned when they arrived.
        kept: the list to which objects that stay here are added.
    """

    def __init__(
        self,
        known: Sequence[Any] = (),
        sent: Mapping[int, Numbers] | None = None,
        kept: list[Any] | None = None,
    ) -> None:
        self._places = {id(value): place for place, value in enumerate(known)}
        self._sent = sent or {}
        self._kept = [] if kept is None else kept
        self._written: list[Tensor] = []
        self._items = 0

    def encode(self, value: Any, depth: int = 0) -> Any:
        """Return what `Decoder.decode` builds the value from."""
        self._items += 1
        if self._items > _MOST_ITEMS or depth > _DEEPEST:
            return self._stays(value)
        if (place := self._places.get(id(value))) is not None:
            return {"r": place}
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if isinstance(value, int) and kind is not bool:
            return int(value) if abs(value) < _LARGEST_INT else self._stays(value)
        if isinstance(value, float):
            return float(value)
        if isinstance(value, str):
            return str(value)
        if isinstance(value, Tensor):
            return self._if_possible(value, self.tensor)
        if isinstance(value, np.ndarray):
            return self._if_possible(value, self._array)
        if isinstance(value, torch.device):
            return {"D": str(value)}
        if isinstance(value, torch.dtype):
            return {"Y": str(value).removeprefix("torch.")}
        if isinstance(value, nn.Module):
            tensors = [value.parameters(), value.buffers()]
            return {"M": [[self.encode(t, depth + 1) for t in each] for each in tensors]} | (
                self._stays(value)
            )
        if isinstance(value, Mapping):
            pairs = value.items()
            return {"d": [[self.encode(each, depth + 1) for each in pair] for pair in pairs]}
        for name, container in (*_KINDS.items(), ("s", frozenset)):
            if isinstance(value, container):
                return {name: [self.encode(each, depth + 1) for each in value]}
        return self._stays(value)

    def _stays(self, value: Any) -> dict[str, Any]:
        self._kept.append(value)
        return {"o": str(type(value).__name__)[:80], "h": len(self._kept) - 1}

    def _if_possible(self, value: Any, encode: Any) -> Any:
        try:
            return encode(value)
        except (RuntimeError, TypeError, ValueError, NotImplementedError):
            return self._stays(value)  # such as a sparse tensor or an array of objects

    def tensor(self, tensor: Tensor) -> dict[str, Any]:
        """Encode a tensor, as a view of one that is in the message if it shares its memory."""
        known = {"q": tensor.requires_grad}
        for place, other in enumerate(self._written):
            if (offset := _offset_in(tensor, other)) is not None:
                shape, stride = list(tensor.shape), list(tensor.stride())
                return {"T": known | {"of": place, "at": offset, "shape": shape, "stride": stride}}
        numbers = numbers_of(tensor)
        if self._sent.get(id(tensor)) == numbers and id(tensor) in self._places:
            known |= {"same": True}
        else:
            data, dtype, shape, device = numbers
            known |= {"data": base64.b64encode(data).decode(), "dtype": dtype}
            known |= {"shape": list(shape), "device": device}
        self._written.append(tensor.detach())
        return {"T": known}

    def _array(self, array: np.ndarray) -> dict[str, Any]:
        writeable = bool(array.flags.writeable)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                tensor = torch.from_numpy(array)
            except ValueError:  # negative strides
                tensor = torch.from_numpy(np.array(array))
        return {"A": self.tensor(tensor)["T"], "w": writeable}


def _offset_in(tensor: Tensor, other: Tensor) -> int | None:
    """How many numbers into the memory of `other` a tensor begins, if it is a part of it."""
    if tensor.dtype != other.dtype or tensor.device != other.device or not tensor.numel():
        return None
    size = tensor.element_size()
    offset, rest = divmod(tensor.data_ptr() - other.data_ptr(), size)
    last = offset + sum(
        (n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True)
    )
    inside = offset >= 0 and last < other.numel() and not rest
    return offset if inside and other.is_contiguous() else None


class Decoder:
    """Builds the values of one message.

    Args:
        known: the judge's objects, in the order that the encoder knows them by.
    """

    def __init__(self, known: Sequence[Any] = ()) -> None:
        self._known = known
        self._read: list[Tensor] = []
        self._items = 0

    def decode(self, tree: Any, depth: int = 0) -> Any:
        """Return the value that was encoded.

        Raises:
            Malformed: no encoder writes this.
        """
        self._items += 1
        if self._items > 2 * _MOST_ITEMS or depth > 2 * _DEEPEST:
            raise Malformed
        if tree is None or isinstance(tree, bool | int | float | str):
            return tree
        try:
            return self._decode(tree, depth)
        except (KeyError, TypeError, ValueError, IndexError, RuntimeError, AttributeError):
            raise Malformed from None

    def _decode(self, tree: dict[str, Any], depth: int) -> Any:
        (name, value), *others = tree.items()
        if name == "r":
            return self._known[_place(value)]
        if name in _KINDS:
            return _KINDS[name](self._each(value, depth))
        if name == "d":
            return dict(tuple(self._each(pair, depth)) for pair in value)
        if name == "T":
            return self.tensor(value)
        if name == "A":
            array = self.tensor(value).detach().cpu().numpy()
            if others != [("w", True)]:
                array.flags.writeable = False
            return array
        if name == "D":
            return torch.device(value)
        if name == "Y":
            return _dtype(value)
        if name == "M":
            module = stand_in(RemoteModule, tree)
            self._register(module, *value)
            return module
        if name == "o":
            return stand_in(RemoteObject, tree)
        raise Malformed

    def _each(self, values: list[Any], depth: int) -> Iterator[Any]:
        return (self.decode(value, depth + 1) for value in values)

    def tensor(self, tree: dict[str, Any], own: Tensor | None = None) -> Tensor:
        """Build a tensor; or give `own`, the judge's tensor, the numbers that were sent."""
        if "of" in tree:
            whole = self._read[_place(tree["of"])].detach()
            tensor = whole.as_strided(
                [_place(n) for n in tree["shape"]],
                [_place(n) for n in tree["stride"]],
                whole.storage_offset() + _place(tree["at"]),
            )
            if tensor.numel() > _MOST_NUMBERS:
                raise Malformed
        elif "same" in tree and own is not None:
            tensor = own
        else:
            shape = [_place(n) for n in tree["shape"]]
            data = base64.b64decode(tree["data"], validate=True)
            size = math.prod(shape) * _dtype(tree["dtype"]).itemsize
            if len(data) != size or size > 4 * _MOST_NUMBERS:
                raise Malformed
            tensor = tensor_of(data, tree["dtype"], shape, str(torch.device(tree["device"])))
        if own is not None and tensor is not own:
            own.data = tensor
        if own is not None:
            tensor = own
        if "of" not in tree:
            self._read.append(tensor)
        # What the judge computes is not recorded by autograd unless it asks for it.
        if tensor.requires_grad != tree["q"] and tensor.is_leaf:
            tensor.requires_grad_(bool(tree["q"]))
        return tensor

    def _register(self, module: nn.Module, parameters: list[Any], buffers: list[Any]) -> None:
        for number, tree in enumerate(parameters):
            tensor = self.decode(tree)
            parameter = nn.Parameter(tensor.detach(), requires_grad=tensor.requires_grad)
            module.register_parameter(f"parameter_{number}", parameter)
        for number, tree in enumerate(buffers):
            module.register_buffer(f"buffer_{number}", self.decode(tree))


class RemoteObject:
    """Stands for an object in the answer's process, such as a student's function.

    `remote_name` is what that process finds it by.
    """

    remote_name: tuple[str, str | int] = ("", 0)


class RemoteModule(RemoteObject, nn.Module):
    """Stands for a network in the answer's process; it has the network's tensors, but no layers."""


def stand_in(kind: type[RemoteObject], tree: dict[str, Any]) -> Any:
    """Return an object of this kind, in a class with the name that the real object's class has."""
    name = tree["o"]
    if not (isinstance(name, str) and name.isidentifier()):
        raise Malformed
    return type(name, (kind,), {"remote_name": ("kept", _place(tree["h"]))})()


def _place(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise Malformed
    return value


def _dtype(name: Any) -> torch.dtype:
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise Malformed
    return dtype
