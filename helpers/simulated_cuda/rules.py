"""Which places each of PyTorch's primitive operations accepts on CUDA, and what it says otherwise.

Three families. Element-wise operations go through TensorIterator, which takes scalars from the CPU.
Most others check every argument against the first, in a wrapper that PyTorch generates; the names
in its text come from the operation's schema. A few check by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from . import messages
from .machine import Machine
from .operations import CROSSING, ITERATED, NO_CPU_SCALARS, STRUCTURED
from .places import CPU, index_of


@dataclass(frozen=True)
class Argument:
    """One tensor that an operation was given, under the name it has in the operation's schema."""

    name: str
    tensor: torch.Tensor
    where: int
    written: bool


def check(machine: Machine, func: torch._ops.OpOverload, args: tuple, kwargs: dict) -> int:
    """The device of the result of a primitive operation on tensors from several places.

    Raises what CUDA raises where it does not accept them.
    """
    base = func._schema.name.partition("::")[2]
    special = _SPECIAL.get(base)
    if special is not None:
        return special(machine, func, args, kwargs)
    arguments = list(_arguments(func, args, kwargs))
    if base in CROSSING or base.rstrip("_") in CROSSING:
        return arguments[0].where
    plain = base[:-1] if base.endswith("_") else base
    full = f"{plain}.{func._schema.overload_name}" if func._schema.overload_name else plain
    if plain in ITERATED and full not in _CHECKED_OVERLOADS:
        return _iterate(machine, arguments, plain not in NO_CPU_SCALARS)
    return _check_each(machine, func, arguments)


# These overloads alone go through the generated wrapper.
_CHECKED_OVERLOADS = {
    f"{name}.{overload}" for name in ("clamp", "clamp_min", "clamp_max")
    for overload in ("Tensor", "Tensor_out")
}  # fmt: skip


def _arguments(func: torch._ops.OpOverload, args: tuple, kwargs: dict) -> Iterator[Argument]:
    """The tensors among the arguments: first those written to as `out`, then in order."""
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


def _iterate(machine: Machine, arguments: list[Argument], takes_scalars: bool = True) -> int:
    """TensorIterator's check (aten/src/ATen/TensorIterator.cpp, compute_types)."""
    common = next((argument.where for argument in arguments if argument.where != CPU), CPU)
    scalars = 0
    # What is written comes first in TensorIterator's list of operands.
    for argument in sorted(arguments, key=lambda argument: not argument.written):
        is_scalar = argument.where == CPU and argument.tensor.dim() == 0 and not argument.written
        if takes_scalars and is_scalar:
            if scalars == 1:
                raise RuntimeError("Trying to pass too many CPU scalars to CUDA kernel!")
            scalars += 1
        elif argument.where != common:
            names = machine.name(common), machine.name(argument.where)
            raise RuntimeError(messages.two_devices(*map(str, names)))
    return common


def _check_each(
    machine: Machine, func: torch._ops.OpOverload, arguments: list[Argument],
    method: str | None = None,
) -> int:  # fmt: skip
    """The check of the generated wrappers (torchgen/dest/register_dispatch_key.py)."""
    first = arguments[0].where
    for argument in arguments[1:]:
        if argument.where != first:
            raise RuntimeError(
                messages.wrong_argument(
                    argument.name, str(machine.name(argument.where)), str(machine.name(first)),
                    method or _method(func),
                )
            )  # fmt: skip
    return first


def _method(func: torch._ops.OpOverload) -> str:
    """The name of the wrapper that PyTorch generates for this operation, after `wrapper_CUDA_`."""
    base, overload = func._schema.name.partition("::")[2], func._schema.overload_name
    structured = base.rstrip("_") in STRUCTURED or base in STRUCTURED
    if any(argument.is_out for argument in func._schema.arguments):
        base += "_out"
    if structured:
        return f"{base}_{overload}" if overload else base
    return f"{overload}_{base}"


Special = Callable[[Machine, Any, tuple, dict], int]
_SPECIAL: dict[str, Special] = {}


def _special(*names: str) -> Callable[[Special], Special]:
    def add(rule: Special) -> Special:
        _SPECIAL.update(dict.fromkeys(names, rule))
        return rule

    return add


@_special(
    "index", "_unsafe_index", "index_put", "index_put_", "_unsafe_index_put", "_index_put_impl_"
)
def _index(machine, func, args, kwargs):
    """Indices may be on the CPU; what is assigned must be on the tensor's device."""
    source = index_of(args[0])
    for index in args[1]:
        if index is not None and index_of(index) not in (CPU, source):
            raise RuntimeError(
                "indices should be either on cpu or on the same device as the indexed tensor "
                f"({machine.name(source)})"
            )
    if "put" in func._schema.name:
        values = args[2]
        if index_of(values) != source and not (index_of(values) == CPU and values.dim() == 0):
            places = sorted((source, index_of(values)), reverse=True)
            raise RuntimeError(messages.two_devices(*(str(machine.name(p)) for p in places)))
    return source


@_special("masked_fill", "masked_fill_")
def _masked_fill(machine, func, args, kwargs):
    """The mask must be with the tensor; the value may be a scalar from the CPU."""
    source, mask = index_of(args[0]), index_of(args[1])
    if source != mask:
        raise RuntimeError(
            "expected self and mask to be on the same device, but got mask on "
            f"{machine.name(mask)} and self on {machine.name(source)}"
        )
    return source


@_special("embedding")
def _embedding(machine, func, args, kwargs):
    """An embedding is `index_select` on its weight."""
    weight, indices = index_of(args[0]), index_of(args[1])
    raise RuntimeError(
        messages.wrong_argument(
            "index", str(machine.name(indices)), str(machine.name(weight)), "_index_select"
        )
    )


@_special("mv")
def _matrix_vector(machine, func, args, kwargs):
    """`mv` adds onto a result that is where the vector is."""
    matrix, vector = machine.name(index_of(args[0])), machine.name(index_of(args[1]))
    raise RuntimeError(messages.wrong_argument("mat", str(matrix), str(vector), "addmv_"))


@_special("_trilinear")
def _trilinear(machine, func, args, kwargs):
    """The sum of products of three tensors is two batched matrix products."""
    places = [machine.name(index_of(tensor)) for tensor in args[:3]]
    other = next(place for place in places if place != places[0])
    raise RuntimeError(messages.wrong_argument("mat2", str(other), str(places[0]), "bmm"))


@_special("_scaled_dot_product_flash_attention_for_cpu")
def _masked_attention(machine, func, args, kwargs):
    """CUDA has another kernel for attention with a mask, and another name for the mask."""
    mask = kwargs.get("attn_mask", args[5] if len(args) > 5 else None)
    places = machine.name(index_of(mask)), machine.name(index_of(args[0]))
    raise RuntimeError(
        messages.wrong_argument(
            "attn_bias", str(places[0]), str(places[1]), "__scaled_dot_product_efficient_attention"
        )
    )


@_special("stack", "_stack")
def _stack(machine, func, args, kwargs):
    """`stack` is `cat` on its tensors with one dimension more."""
    arguments = list(_arguments(func, args, kwargs))
    return _check_each(machine, func, arguments, "cat")


@_special("convolution", "convolution_overrideable", "_convolution", "mkldnn_convolution")
def _convolution(machine, func, args, kwargs):
    """Types with their device must be equal (aten/src/ATen/native/Convolution.cpp)."""
    signal, weight = args[0], args[1]
    bias = args[2] if len(args) > 2 else kwargs.get("bias")
    names = [messages.tensor_type(t, index_of(t)) for t in (signal, weight)]
    if index_of(signal) == CPU and index_of(weight) != CPU:
        raise RuntimeError(
            f"Input type ({names[0]}) and weight type ({names[1]}) should be the same or input "
            "should be a MKLDNN tensor and weight is a dense tensor"
        )
    if names[0] != names[1]:
        raise RuntimeError(
            f"Input type ({names[0]}) and weight type ({names[1]}) should be the same"
        )
    if bias is not None and (index_of(bias) == CPU) != (index_of(signal) == CPU):
        kind = messages.tensor_type(bias, index_of(bias))
        raise RuntimeError(f"Input type ({names[0]}) and bias type ({kind}) should be the same")
    # Two GPUs: the types agree, the generated wrapper of the cuDNN kernel does not.
    transposed = bool(args[6]) if len(args) > 6 else False
    method = "_cudnn_convolution_transpose" if transposed else "_cudnn_convolution"
    return _check_each(machine, func, list(_arguments(func, args, kwargs))[:2], method)


@_special("native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_no_training",
          "_batch_norm_with_update", "_batch_norm_no_update", "cudnn_batch_norm")  # fmt: skip
def _batch_norm(machine, func, args, kwargs):
    """On CUDA batch normalization is cuDNN's where the input allows it."""
    signal, weight = args[0], args[1]
    by_cudnn = index_of(signal) >= 0 and signal.dim() >= 2 and weight is not None
    method = "_cudnn_batch_norm" if by_cudnn else "_native_batch_norm"
    return _check_each(machine, func, list(_arguments(func, args, kwargs)), method)
