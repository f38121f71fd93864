"""Rules for primitive operations with their own device checks or another decomposition on CUDA.

Each rule returns the index of the result's device or raises CUDA's error. File names in comments
refer to PyTorch's source.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from . import messages
from .arguments import (
    Argument,
    Rule,
    add_rule,
    check_each,
    check_elementwise,
    check_same_device_as_first,
    tensor_arguments,
    two_devices,
)  # fmt: skip
from .machine import Machine
from .places import CPU, index_of

RULES: dict[str, Rule] = {}
_rule = partial(add_rule, RULES)


@_rule("_pack_padded_sequence")
def pack_padded_sequence(machine, func, args, kwargs):
    """The lengths must be on the CPU (PackedSequence.cpp)."""
    lengths = args[1]
    device_index = index_of(lengths)
    if device_index != CPU:
        dtype = lengths.type().rpartition(".")[2].removesuffix("Tensor")
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, but got "
            f"{lengths.dim()}D {machine.name(device_index)} {dtype} tensor"
        )
    return index_of(args[0])


@_rule("where")
def _where(machine, func, args, kwargs):
    """`where` moves all CPU scalars to the device before the check."""
    arguments = [
        argument
        for argument in tensor_arguments(func, args, kwargs)
        if argument.tensor.dim() or argument.device_index != CPU
    ]
    return check_elementwise(machine, arguments)


@_rule("mse_loss")
def _mse_loss(machine, func, args, kwargs):
    """The subtraction accepts a CPU scalar; the mean that follows does not."""
    device_index = check_elementwise(machine, list(tensor_arguments(func, args, kwargs)))
    if args[2:3] != (0,) and not any(tensor.dim() for tensor in args[:2]):
        names = [str(machine.name(index_of(tensor))) for tensor in args[:2]]
        raise RuntimeError(messages.two_devices(*names))
    return device_index


@_rule("embedding")
def _embedding(machine, func, args, kwargs):
    """Runs as `index_select` on the weight."""
    return check_same_device_as_first(machine, "_index_select", {"self": args[0], "index": args[1]})


@_rule("mv")
def _matrix_vector(machine, func, args, kwargs):
    """Runs as `addmv_` on a result that is created on the vector's device."""
    return check_same_device_as_first(
        machine, "addmv_", {"self": args[1], "mat": args[0], "vec": args[1]}
    )


@_rule("_trilinear")
def _trilinear(machine, func, args, kwargs):
    """Runs as two batched matrix products on CUDA."""
    check_same_device_as_first(machine, "bmm", {"self": args[0], "mat2": args[1]})
    return check_same_device_as_first(machine, "bmm", {"self": args[0], "mat2": args[2]})


def _result_on_first_device(*names: str) -> Rule:
    """Return the rule for operations that create their result on the first tensor's device."""

    def rule(machine: Machine, func: Any, args: tuple, kwargs: dict) -> int:
        tensors = dict(zip(names, args, strict=False))
        base = func._schema.name.partition("::")[2].rstrip("_")
        return check_same_device_as_first(machine, f"out_{base}_out", tensors)

    return rule


def _result_on_device_of(position: int) -> Rule:
    """Return the rule for element-wise operations that create their result before the check.

    The result is created on the device of the argument at `position`.
    """

    def rule(machine: Machine, func: Any, args: tuple, kwargs: dict) -> int:
        reference = args[position]
        result = Argument("result", reference, index_of(reference), written=True)
        return check_elementwise(machine, [result, *tensor_arguments(func, args, kwargs)])

    return rule


RULES.update(dict.fromkeys(("logical_and", "logical_or", "logical_xor"), _result_on_device_of(0)))
RULES["soft_margin_loss"] = _result_on_device_of(0)
RULES["binary_cross_entropy_with_logits"] = _result_on_device_of(1)


def _not_on_cuda(name: str) -> Rule:
    def rule(machine: Machine, func: Any, args: tuple, kwargs: dict) -> int:
        raise NotImplementedError(messages.no_kernel(name))

    return rule


RULES["histogram"] = _not_on_cuda("histogram.bins_tensor")
RULES["_histogramdd_from_bin_tensors"] = _not_on_cuda("_histogramdd_from_bin_tensors")
RULES["complex"] = _result_on_first_device("real", "imag")
RULES["polar"] = _result_on_first_device("abs", "angle")
RULES["linalg_lstsq"] = _result_on_first_device("self", "b")
RULES["addr_"] = _result_on_first_device("self", "vec1", "vec2")


@_rule("_ctc_loss")
def _ctc_loss(machine, func, args, kwargs):
    """Targets may be on any device; lengths must be on the same device as the input."""
    arguments = [a for a in tensor_arguments(func, args, kwargs) if a.name != "targets"]
    return check_each(machine, func, arguments)


@_rule("_nested_view_from_jagged")
def _nested_view(machine, func, args, kwargs):
    """The argument `dummy` is on no GPU."""
    return index_of(args[0])


@_rule("stack", "_stack")
def _stack(machine, func, args, kwargs):
    """Runs as `cat` after a dimension is added to each tensor."""
    arguments = list(tensor_arguments(func, args, kwargs))
    has_out = any(argument.is_out for argument in func._schema.arguments)
    return check_each(machine, func, arguments, "cat_out_out" if has_out else "cat")


@_rule("_scaled_dot_product_flash_attention_for_cpu")
def _masked_attention(machine, func, args, kwargs):
    """On CUDA, attention with a mask uses another kernel if the sizes allow it."""
    mask = kwargs.get("attn_mask")
    if mask is None or len({index_of(tensor) for tensor in args[:3]}) > 1:
        return check_each(machine, func, list(tensor_arguments(func, args, kwargs)))
    return check_attention_mask(machine, args[0], mask)


def check_attention_mask(machine: Machine, query: torch.Tensor, mask: torch.Tensor) -> int:
    """Check that the mask is on the query's device, and return that device's index.

    The error message depends on the kernel that CUDA would select.
    """
    query_index, mask_index = index_of(query), index_of(mask)
    if query_index == CPU and mask_index != CPU:
        raise NotImplementedError(messages.no_kernel("_scaled_dot_product_flash_attention_for_cpu"))
    if query_index != mask_index and query.shape[-1] % (4 if query.dtype == torch.float32 else 8):
        raise two_devices(machine, query_index, mask_index)
    method = "__scaled_dot_product_efficient_attention"
    return check_same_device_as_first(machine, method, {"query": query, "attn_bias": mask})


@_rule("native_batch_norm")
def _batch_norm(machine, func, args, kwargs):
    """Runs in cuDNN if the input meets its conditions (native/Normalization.cpp)."""
    signal, weight, bias, mean, variance, training = args[:6]
    has_weight_and_bias = weight is not None and bias is not None
    statistics = (mean is None) == (variance is None) and (mean is not None or training)
    uses_cudnn = index_of(signal) >= 0 and signal.dim() >= 3 and has_weight_and_bias and statistics
    method = "_cudnn_batch_norm" if uses_cudnn else "_native_batch_norm"
    return check_each(machine, func, list(tensor_arguments(func, args, kwargs)), method)
