"""The two device checks that most primitive operations perform.

Element-wise operations use TensorIterator, which accepts CPU scalars. Most other operations compare
the device of every argument with the first one's, in a wrapper that PyTorch generates. The names in
its error messages come from the operation's schema.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torchgen

from . import messages
from .device_tags import CPU, device_at, index_of

# Checks one primitive operation, and returns the index of its result's device.
Rule = Callable[[Any, tuple, dict], int]


def parse_operators(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the element-wise and the structured operations of `native_functions.yaml`.

    A structured kernel changes the name of the operation's wrapper. Names omit the trailing
    underscore of in-place operations.
    """
    elementwise, structured = set(), set()
    name = ""
    for line in text.splitlines():
        if line.startswith("- func: "):
            name = re.match(r"\w+", line.removeprefix("- func: "))[0]
            if not name.endswith("__"):
                name = name.removesuffix("_")
        elif line.startswith("  structured"):
            structured.add(name)
        # `NoCheck` disables the check in the wrapper; a comment gives the reason, except for the
        # polynomials.
        elif line.startswith("  device_check: NoCheck") and (
            re.search("# *(TensorIterator|foreach)", line)
            or re.match(r"special_\w*polynomial_", name)
        ):
            elementwise.add(name)
    return frozenset(elementwise), frozenset(structured)


# Every torch wheel contains this list of its operations.
_OPERATORS = Path(torchgen.__file__).parent / "packaged" / "ATen/native/native_functions.yaml"
ELEMENTWISE, _STRUCTURED = parse_operators(_OPERATORS.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Argument:
    """A tensor argument, with its name in the operation's schema."""

    name: str
    tensor: torch.Tensor
    written: bool = False

    @property
    def device_index(self) -> int:
        """The index of the tensor's device."""
        return index_of(self.tensor)


def tensor_arguments(func: torch._ops.OpOverload, args: tuple, kwargs: dict) -> list[Argument]:
    """Return the tensor arguments: `out` arguments first, then the others in order."""
    outputs, inputs = [], []
    for number, argument in enumerate(func._schema.arguments):
        value = args[number] if number < len(args) else kwargs.get(argument.name)
        written = argument.alias_info is not None and argument.alias_info.is_write
        for tensor in value if isinstance(value, list | tuple) else (value,):
            if isinstance(tensor, torch.Tensor):
                entry = Argument(argument.name, tensor, written)
                (outputs if argument.is_out else inputs).append(entry)
    return outputs + inputs


def check_elementwise(arguments: list[Argument], takes_scalars: bool = True) -> int:
    """Perform TensorIterator's check (`compute_types` in aten/src/ATen/TensorIterator.cpp)."""
    common = next((a.device_index for a in arguments if a.device_index != CPU), CPU)
    scalars = 0
    # Outputs come first in TensorIterator's list of operands.
    for argument in sorted(arguments, key=lambda argument: not argument.written):
        index = argument.device_index
        if takes_scalars and index == CPU and argument.tensor.dim() == 0 and not argument.written:
            if scalars == 1:
                raise RuntimeError("Trying to pass too many CPU scalars to CUDA kernel!")
            scalars += 1
        elif index != common:
            raise messages.two_devices(device_at(common), device_at(index))
    return common


def check_each(
    func: torch._ops.OpOverload, arguments: Iterable[Argument], method: str | None = None
) -> int:
    """Perform the check of the generated wrapper, whose name is `method` if it is not `func`'s."""
    first, *others = arguments
    for argument in others:
        if argument.device_index != first.device_index:
            names = (method,) if method is not None else _wrapper_name(func)
            devices = device_at(argument.device_index), device_at(first.device_index)
            raise messages.wrong_argument(argument.name, *devices, *names)
    return first.device_index


def check_named(method: str, /, **tensors: torch.Tensor | None) -> int:
    """Perform the same check for tensors by argument name; None is skipped."""
    arguments = (Argument(name, x) for name, x in tensors.items() if x is not None)
    return check_each(None, arguments, method)


def two_devices(*device_indices: int) -> RuntimeError:
    """Return TensorIterator's error for two device indices; a GPU comes first in its text."""
    first, second = sorted(device_indices, key=lambda device_index: device_index == CPU)
    return messages.two_devices(device_at(first), device_at(second))


def _wrapper_name(func: torch._ops.OpOverload) -> tuple[str, ...]:
    """Return the name of the generated wrapper after its prefix, and the prefix if it has one."""
    if not func._schema.name.startswith("aten::"):
        return func._schema.name, ""
    base, overload = func._schema.name.partition("::")[2], func._schema.overload_name
    structured = base.rstrip("_") in _STRUCTURED or base in _STRUCTURED
    if any(argument.is_out for argument in func._schema.arguments):
        base += "_out"
    if structured:
        return (f"{base}_{overload}" if overload else base,)
    return (f"{overload}_{base}",)
