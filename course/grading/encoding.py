"""Encodes the return values of a student's code as plain data. Runs in the answer process.

The output of `Encoder` is valid JSON. It represents numbers, text, containers, tensors and arrays.
An object of any other class is not sent. The judge gets the name of its class and a number, and
can use the number to pass the object to later calls.
"""

from __future__ import annotations

import base64
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

MAX_ITEMS = 300_000
MAX_DEPTH = 40
# The key of each container type in the JSON.
CONTAINERS = {"l": list, "t": tuple, "s": set}
_INT_LIMIT = 1 << 4096

# A tensor's data in row-major order, its dtype, its shape and its device.
TensorData = tuple[bytes, str, tuple[int, ...], str]


def tensor_data(tensor: Tensor) -> TensorData:
    """Return the arguments with which `make_tensor` rebuilds a tensor."""
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
    dtype = str(tensor.dtype).removeprefix("torch.")
    return data, dtype, tuple(tensor.shape), str(tensor.device)


class Encoder:
    """Encodes the values of one message.

    Args:
        shared_objects: objects that the judge also has; each is encoded as its index in this list.
        sent: the original `tensor_data(tensor)` of shared tensors, by `id(tensor)`.
        unsent_objects: the encoder appends objects that are not sent to this list.
    """

    def __init__(
        self,
        shared_objects: Sequence[Any] = (),
        sent: Mapping[int, TensorData] | None = None,
        unsent_objects: list[Any] | None = None,
    ) -> None:
        self._indices = {id(value): index for index, value in enumerate(shared_objects)}
        self._sent = sent or {}
        self._unsent_objects = [] if unsent_objects is None else unsent_objects
        self._tensors: list[Tensor] = []
        self._items = 0

    def encode(self, value: Any, depth: int = 0) -> Any:
        """Encode a value for `Decoder.decode`."""
        self._items += 1
        if self._items > MAX_ITEMS or depth > MAX_DEPTH:
            return self._keep_object(value)
        if (index := self._indices.get(id(value))) is not None:
            return {"r": index}
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if isinstance(value, int) and kind is not bool:
            return int(value) if abs(value) < _INT_LIMIT else self._keep_object(value)
        if isinstance(value, float):
            return float(value)
        if isinstance(value, str):
            return str(value)
        if isinstance(value, Tensor):
            return self._encode_or_keep(value, self.tensor)
        if isinstance(value, np.ndarray):
            return self._encode_or_keep(value, self._array)
        if isinstance(value, torch.device):
            return {"D": str(value)}
        if isinstance(value, torch.dtype):
            return {"Y": str(value).removeprefix("torch.")}
        if isinstance(value, nn.Module):
            tensors = [value.parameters(), value.buffers()]
            return {"M": [[self.encode(t, depth + 1) for t in item] for item in tensors]} | (
                self._keep_object(value)
            )
        if isinstance(value, Mapping):
            pairs = value.items()
            return {"d": [[self.encode(item, depth + 1) for item in pair] for pair in pairs]}
        for name, container in (*CONTAINERS.items(), ("s", frozenset)):
            if isinstance(value, container):
                return {name: [self.encode(item, depth + 1) for item in value]}
        return self._keep_object(value)

    def _keep_object(self, value: Any) -> dict[str, Any]:
        self._unsent_objects.append(value)
        return {"o": str(type(value).__name__)[:80], "h": len(self._unsent_objects) - 1}

    def _encode_or_keep(self, value: Any, encode: Any) -> Any:
        try:
            return encode(value)
        except (RuntimeError, TypeError, ValueError, NotImplementedError):
            return self._keep_object(value)  # for example, a sparse tensor or an array of objects

    def tensor(self, tensor: Tensor) -> dict[str, Any]:
        """Encode a tensor; if it shares memory with an earlier tensor, encode it as a view."""
        fields = {"q": tensor.requires_grad}
        for index, other in enumerate(self._tensors):
            if (offset := _offset_in(tensor, other)) is not None:
                shape, stride = list(tensor.shape), list(tensor.stride())
                return {"T": fields | {"of": index, "at": offset, "shape": shape, "stride": stride}}
        numbers = tensor_data(tensor)
        if self._sent.get(id(tensor)) == numbers and id(tensor) in self._indices:
            fields |= {"same": True}
        else:
            data, dtype, shape, device = numbers
            fields |= {"data": base64.b64encode(data).decode(), "dtype": dtype}
            fields |= {"shape": list(shape), "device": device}
        self._tensors.append(tensor.detach())
        return {"T": fields}

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
    """Return the offset of `tensor` in `other`, in elements; None if it is not a view."""
    if tensor.dtype != other.dtype or tensor.device != other.device or not tensor.numel():
        return None
    size = tensor.element_size()
    offset, remainder = divmod(tensor.data_ptr() - other.data_ptr(), size)
    last_offset = offset + sum(
        (n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True)
    )
    is_inside = offset >= 0 and last_offset < other.numel() and not remainder
    return offset if is_inside and other.is_contiguous() else None
