"""Plain data: what a collector records of the student's values, and how a judge compares it.

Numbers, strings, containers, dtypes and devices stay as they are. Tensors, modules and other
objects become the data classes below, which keep no reference to the student's object. Their values
are read with the getters of `torch.Tensor`, so that a subclass cannot change what they say.
"""

import inspect
import textwrap
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from helpers.language import translate


@dataclass(frozen=True, eq=False)
class PlainTensor:
    """A tensor or array."""

    values: Tensor  # on the CPU
    device: str = "cpu"  # such as "cuda:0"
    requires_grad: bool = False
    kind: str = "tensor"  # or "array", for an array of NumPy
    is_argument: bool = False  # or an item of an argument of the call

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape as a tuple."""
        return tuple(self.values.shape)

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the values."""
        return self.values.dtype

    def make(self) -> Tensor:
        """Return a new leaf tensor with these values on this device."""
        tensor = self.values.detach().clone().to(self.device)
        return tensor.requires_grad_() if self.requires_grad else tensor


@dataclass(frozen=True, eq=False)
class PlainModule:
    """A module: the name of its class, its parameters and buffers, its modes and gradients."""

    name: str
    parameters: dict[str, PlainTensor]
    buffers: dict[str, PlainTensor]
    gradients: dict[str, PlainTensor | None]
    modes: dict[str, bool]

    @property
    def devices(self) -> list[str]:
        """The devices of the parameters, sorted, each once."""
        return sorted({tensor.device for tensor in self.parameters.values()})

    @property
    def is_frozen(self) -> bool:
        """Whether a parameter does not require a gradient."""
        return not all(tensor.requires_grad for tensor in self.parameters.values())

    @property
    def weights(self) -> list[Tensor]:
        """The values of the parameters, on the CPU."""
        return [tensor.values for tensor in self.parameters.values()]


@dataclass(frozen=True)
class Other:
    """An object that is not plain data: a short description."""

    description: str


_PLAIN = PlainTensor | PlainModule | Other


def plain(value: Any, arguments: Container[int] = (), depth: int = 0) -> Any:
    """Return `value` as plain data; `arguments` are the ids of the arguments of a call."""
    if value is None or isinstance(value, bool | torch.dtype | torch.device | _PLAIN):
        return value
    for base in (int, float, str):
        if isinstance(value, base):
            return base.__new__(base, value) if type(value) is not base else value
    if isinstance(value, Tensor):
        return _plain_tensor(value, id(value) in arguments)
    if isinstance(value, nn.Module):
        parameters = dict(nn.Module.named_parameters(value))
        return PlainModule(
            type(value).__name__,
            {name: plain(tensor) for name, tensor in parameters.items()},
            {name: plain(tensor) for name, tensor in nn.Module.named_buffers(value)},
            {name: plain(tensor.grad) for name, tensor in parameters.items()},
            {name: item.training for name, item in nn.Module.named_modules(value)},
        )
    if isinstance(value, np.ndarray):
        with suppress(TypeError):
            return PlainTensor(torch.from_numpy(value.copy()), kind="array")
    if depth < 8 and type(value) in (list, tuple, set, frozenset):
        return type(value)(plain(item, arguments, depth + 1) for item in value)
    if depth < 8 and isinstance(value, Mapping):
        return {plain(key): plain(item, arguments, depth + 1) for key, item in value.items()}
    return Other(describe(value))


def _plain_tensor(tensor: Tensor, is_argument: bool) -> Any:
    with torch._C.DisableTorchFunctionSubclass():
        device, requires_grad = Tensor.device.__get__(tensor), Tensor.requires_grad.__get__(tensor)
        if type(tensor) not in (Tensor, nn.Parameter, nn.Buffer):
            return Other(describe(tensor))
        values = Tensor.detach(tensor).cpu().clone()
    return PlainTensor(values, str(device), requires_grad, is_argument=is_argument)


def is_equal(first: Any, second: Any, close: Callable[[Any, Any], bool] | None = None) -> bool:
    """Return whether two plain values are equal; `close` compares numbers and tensors if given.

    A tensor of the judge's has no device of its own to compare.
    """
    if isinstance(first, PlainTensor | Tensor) and isinstance(second, PlainTensor | Tensor):
        devices = {x.device for x in (first, second) if isinstance(x, PlainTensor)}
        values = [x.values if isinstance(x, PlainTensor) else x.detach() for x in (first, second)]
        if first.dtype != second.dtype or values[0].shape != values[1].shape or len(devices) > 1:
            return False
        return (close or partial(torch.allclose, rtol=0, atol=0, equal_nan=True))(*values)
    for kind, entries_of in ((PlainModule, vars), (list | tuple, lambda x: dict(enumerate(x)))):
        if isinstance(first, kind) and isinstance(second, kind):
            first, second = entries_of(first), entries_of(second)
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(
            is_equal(value, second[key], close) for key, value in first.items()
        )
    if close is not None and is_number(first) and is_number(second):
        return close(first, second)
    return first == second


def is_close(first: Any, second: Any, rtol: float = 1e-2, atol: float = 1e-2) -> bool:
    """Return whether two numbers, or two tensors on any devices, are equal up to rounding.

    The defaults allow for a GPU that rounds the inputs of a matrix product (TF32) and sums in a
    different order.
    """
    first, second = (
        torch.as_tensor(x.values if isinstance(x, PlainTensor) else x).detach().cpu().double()
        for x in (first, second)
    )
    same_shape = first.shape == second.shape
    return same_shape and torch.allclose(first, second, rtol=rtol, atol=atol, equal_nan=True)


def are_close(first: Any, second: Any, rtol: float = 1e-3, atol: float = 2e-4) -> bool:
    """Return whether two equally long sequences of tensors, or two modules, have close values."""
    sequences = [x.weights if isinstance(x, PlainModule) else list(x) for x in (first, second)]
    return len(sequences[0]) == len(sequences[1]) and all(
        is_close(*pair, rtol=rtol, atol=atol) for pair in zip(*sequences, strict=True)
    )


def is_number(value: Any) -> bool:
    """Return whether a value is a Python int or float, but not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_tensor(value: Any) -> bool:
    """Return whether a value was a tensor."""
    return isinstance(value, PlainTensor) and value.kind == "tensor"


def is_list(value: Any, count: int, is_item: Callable[[Any], bool]) -> bool:
    """Return whether a value is a list of `count` items for which `is_item` is true."""
    return isinstance(value, list) and len(value) == count and all(map(is_item, value))


def one_line(error: BaseException) -> str:
    """Return the type and message of an error on one line, truncated, without a final period."""
    text = ""
    with suppress(Exception):  # the `__str__` of a student's own class may fail
        text = textwrap.shorten(str(error), 300, placeholder=" ...")
    return f"{type(error).__name__}: {text}".rstrip(": .")


def describe(value: Any) -> str:
    """Return a short description of a value: "an int", "a list of 3", "a function of your own"."""
    if value is None:
        return "None"
    if isinstance(value, Other):
        return value.description
    if inspect.isfunction(value):
        return translate("a function of your own")
    kind = "ndarray" if isinstance(value, PlainTensor) else type(value).__name__
    if isinstance(value, PlainModule):
        kind = value.name
    if isinstance(value, Tensor) or is_tensor(value):
        shape, dtype = tuple(value.shape), value.dtype
        return translate("a tensor of shape {shape} and type {dtype}", shape=shape, dtype=dtype)
    if isinstance(value, list | tuple | set):
        return translate("a {kind} of {count}", kind=kind, count=len(value))
    if kind[0].lower() in "aeiou":
        return translate("an {kind}", kind=kind)
    return translate("a {kind}", kind=kind)


def first(values: Iterable[Any]) -> Any:
    """Return the first true value, or None."""
    return next(filter(None, values), None)


def format_gpu_count(count: int) -> str:
    """Return "no GPU", "one GPU", "2 GPUs", ..."""
    if count < 2:
        return translate("one GPU") if count else translate("no GPU")
    return translate("{count} GPUs", count=count)
