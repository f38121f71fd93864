"""The tensor arguments of an operation, and the two device checks that most operations perform.

Element-wise operations use TensorIterator, which accepts CPU scalars. Most other operations compare
the device of every argument with the first one's, in a wrapper that PyTorch generates. The names in
its error messages come from the operation's schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from . import messages
from .machine import Machine
from .operations import STRUCTURED
from .places import CPU, index_of


@dataclass(frozen=True)
class Argument:
    """A tensor argument, with its name in the operation's schema and its device index."""

    name: str
    tensor: torch.Tensor
    device_index: int
    written: bool


Rule = Callable[[Machine, Any, tuple, dict], int]


def tensor_arguments(func: torch._ops.OpOverload, args: tuple, kwargs: dict) -> Iterator[Argument]:
    """Return the tensor arguments: `out` arguments first, then the others in order."""
    ordered = []
    for number, argument in enumerate(func._schema.arguments):
        value = args[number] if number < len(args) else kwargs.get(argument.name)
        written = argument.alias_info is not None and argument.alias_info.is_write
        for tensor in value if isinstance(value, list | tuple) else (value,):
            if isinstance(tensor, torch.Tensor):
                entry = Argument(argument.name, tensor, index_of(tensor), written)
                ordered.append((not argument.is_out, entry))
    ordered.sort(key=lambda item: item[0])
    return (entry for _, entry in ordered)


def check_elementwise(
    machine: Machine, arguments: list[Argument], takes_scalars: bool = True
) -> int:
    """Perform TensorIterator's check (`compute_types` in aten/src/ATen/TensorIterator.cpp)."""
    common = next(
        (argument.device_index for argument in arguments if argument.device_index != CPU), CPU
    )
    scalars = 0
    # Outputs come first in TensorIterator's list of operands.
    for argument in sorted(arguments, key=lambda argument: not argument.written):
        is_scalar = (
            argument.device_index == CPU and argument.tensor.dim() == 0 and not argument.written
        )
        if takes_scalars and is_scalar:
            if scalars == 1:
                raise RuntimeError("Trying to pass too many CPU scalars to CUDA kernel!")
            scalars += 1
        elif argument.device_index != common:
            names = machine.name(common), machine.name(argument.device_index)
            raise RuntimeError(messages.two_devices(*map(str, names)))
    return common


def check_each(
    machine: Machine, func: torch._ops.OpOverload, arguments: list[Argument],
    method: str | None = None,
) -> int:  # fmt: skip
    """Perform the check of the generated wrappers (torchgen/dest/register_dispatch_key.py)."""
    first = arguments[0].device_index
    for argument in arguments[1:]:
        if argument.device_index != first:
            raise RuntimeError(
                messages.wrong_argument(
                    argument.name, str(machine.name(argument.device_index)),
                    str(machine.name(first)), *_method(func, method),
                )
            )  # fmt: skip
    return first


def refuse_argument(
    machine: Machine, name: str, device_index: int, expected_index: int, method: str
) -> None:
    """Raise the error of PyTorch's generated CUDA wrapper for the argument `name`."""
    devices = str(machine.name(device_index)), str(machine.name(expected_index))
    raise RuntimeError(messages.wrong_argument(name, *devices, method))


def check_same_device_as_first(machine: Machine, method: str, tensors: dict[str, Any]) -> int:
    """Check that all tensors are on the first tensor's device, and return its index.

    PyTorch's generated CUDA wrappers make this check. Arguments that are None are skipped.
    """
    device_indices = {
        name: index_of(tensor) for name, tensor in tensors.items() if tensor is not None
    }
    first = next(iter(device_indices.values()))
    for name, device_index in device_indices.items():
        if device_index != first:
            refuse_argument(machine, name, device_index, first, method)
    return first


def two_devices(machine: Machine, *device_indices: int) -> RuntimeError:
    """Return TensorIterator's error for two device indices; a GPU comes first in its text."""
    first, second = sorted(device_indices, key=lambda device_index: device_index == CPU)[:2]
    return RuntimeError(messages.two_devices(str(machine.name(first)), str(machine.name(second))))


def _method(func: torch._ops.OpOverload, method: str | None) -> tuple[str, ...]:
    """Return the name of an operation's generated wrapper, without the prefix `wrapper_CUDA_`.

    Operations of other libraries have no such wrapper: return their name and an empty prefix.
    """
    if method is not None:
        return (method,)
    if not func._schema.name.startswith("aten::"):
        return func._schema.name, ""
    base, overload = func._schema.name.partition("::")[2], func._schema.overload_name
    structured = base.rstrip("_") in STRUCTURED or base in STRUCTURED
    if any(argument.is_out for argument in func._schema.arguments):
        base += "_out"
    if structured:
        return (f"{base}_{overload}" if overload else base,)
    return (f"{overload}_{base}",)


def add_rule(rules: dict[str, Rule], *names: str) -> Callable[[Rule], Rule]:
    """Return a decorator that adds a rule to `rules` for the operations in `names`."""

    def add(rule: Rule) -> Rule:
        rules.update(dict.fromkeys(names, rule))
        return rule

    return add
