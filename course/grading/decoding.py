"""Decodes plain data from the answer process. Runs in the judge process.

For any input, a `Decoder` builds only tensors, arrays, numbers, text, containers and proxies for
remote objects. It never unpickles data or looks up a class by name.
"""

from __future__ import annotations

import base64
import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from course.grading.encoding import CONTAINERS, MAX_DEPTH, MAX_ITEMS

_MAX_NUMBERS = 1 << 26


class Malformed(Exception):
    """The data is not valid output of an `Encoder`."""


def make_tensor(data: bytes, dtype: str, shape: Sequence[int], device: str) -> Tensor:
    """Create a tensor from raw bytes."""
    kind = _dtype(dtype)
    if not data:
        return torch.empty(tuple(shape), dtype=kind, device=device)
    with warnings.catch_warnings():
        # torch warns that the buffer is read-only, but the tensor is copied below.
        warnings.simplefilter("ignore", UserWarning)
        tensor = torch.frombuffer(data, dtype=kind).reshape(tuple(shape))
    return tensor.clone() if device == "cpu" else tensor.to(device)


class Decoder:
    """Builds the values of one message.

    Args:
        shared_objects: the judge's objects, in the same order as the encoder's `shared_objects`.
    """

    def __init__(self, shared_objects: Sequence[Any] = ()) -> None:
        self._shared_objects = shared_objects
        self._tensors: list[Tensor] = []
        self._items = 0

    def decode(self, tree: Any, depth: int = 0) -> Any:
        """Return the decoded value.

        Raises:
            Malformed: the data is not valid output of an `Encoder`.
        """
        self._items += 1
        if self._items > 2 * MAX_ITEMS or depth > 2 * MAX_DEPTH:
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
            return self._shared_objects[_non_negative(value)]
        if name in CONTAINERS:
            return CONTAINERS[name](self._decode_all(value, depth))
        if name == "d":
            return dict(tuple(self._decode_all(pair, depth)) for pair in value)
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
            module = make_proxy(RemoteModule, tree)
            self._register(module, *value)
            return module
        if name == "o":
            return make_proxy(RemoteObject, tree)
        raise Malformed

    def _decode_all(self, values: list[Any], depth: int) -> Iterator[Any]:
        return (self.decode(value, depth + 1) for value in values)

    def tensor(self, tree: dict[str, Any], target: Tensor | None = None) -> Tensor:
        """Build a tensor. If `target` (a tensor of the judge) is given, update it and return it."""
        if "of" in tree:
            base = self._tensors[_non_negative(tree["of"])].detach()
            tensor = base.as_strided(
                [_non_negative(n) for n in tree["shape"]],
                [_non_negative(n) for n in tree["stride"]],
                base.storage_offset() + _non_negative(tree["at"]),
            )
            if tensor.numel() > _MAX_NUMBERS:
                raise Malformed
        elif "same" in tree and target is not None:
            tensor = target
        else:
            shape = [_non_negative(n) for n in tree["shape"]]
            data = base64.b64decode(tree["data"], validate=True)
            size = math.prod(shape) * _dtype(tree["dtype"]).itemsize
            if len(data) != size or size > 4 * _MAX_NUMBERS:
                raise Malformed
            tensor = make_tensor(data, tree["dtype"], shape, str(torch.device(tree["device"])))
        if target is not None and tensor is not target:
            target.data = tensor
        if target is not None:
            tensor = target
        if "of" not in tree:
            self._tensors.append(tensor)
        # Only a leaf's `requires_grad` can be changed.
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
    """A proxy for an object in the answer process, such as a student's function.

    `remote_name` identifies the object in that process.
    """

    remote_name: tuple[str, str | int] = ("", 0)


class RemoteModule(RemoteObject, nn.Module):
    """A proxy for a network in the answer process, with its tensors but without its layers."""


def make_proxy(kind: type[RemoteObject], tree: dict[str, Any]) -> Any:
    """Return a proxy whose class has the same name as the class of the remote object."""
    name = tree["o"]
    if not (isinstance(name, str) and name.isidentifier()):
        raise Malformed
    return type(name, (kind,), {"remote_name": ("kept", _non_negative(tree["h"]))})()


def _non_negative(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise Malformed
    return value


def _dtype(name: Any) -> torch.dtype:
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise Malformed
    return dtype
