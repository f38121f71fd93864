"""Which devices each primitive operation accepts on CUDA, and the error it raises otherwise.

Each rule returns the index of the result's device or raises CUDA's error. File names in comments
refer to PyTorch's source. Operations without a rule use one of the checks in `device_checks`.
"""

from collections.abc import Callable
from typing import Any

import torch

from . import convolutions, messages, settings
from .device_checks import (
    ELEMENTWISE,
    Argument,
    Rule,
    check_each,
    check_elementwise,
    check_named,
    tensor_arguments,
    two_devices,
)  # fmt: skip
from .device_tags import CPU, device_at, device_of, index_of, set_devices

_NAMES = settings.table("functions")
# Only the in-place form of `normal` is element-wise, and it takes no other tensor. The others are
# composed of element-wise operations, the first of which checks the devices.
_ELEMENTWISE = (ELEMENTWISE - {"normal"}) | {"allclose", "isclose", "ldexp", "soft_margin_loss"}
FOREACH = "_foreach_"

_RULES: dict[str, Rule] = dict.fromkeys(
    ("convolution", "convolution_overrideable", "_convolution", "mkldnn_convolution"),
    convolutions.check_convolution,
)


def check(func: torch._ops.OpOverload, args: tuple, kwargs: dict) -> int:
    """Return the device of the result of a primitive operation, or raise CUDA's error."""
    refuse_if_only_on_cpu(func)
    name = func._schema.name.partition("::")[2]
    if name in _RULES:
        return _RULES[name](func, args, kwargs)
    if name in _NAMES["runs_as"]:
        for method, positions in _NAMES["runs_as"][name]:
            device_index = check_named(method, **{n: args[p] for n, p in positions.items()})
        return device_index
    if name.startswith(FOREACH):
        return _check_foreach(func, args, kwargs)
    arguments = tensor_arguments(func, args, kwargs)
    if not {name, name.rstrip("_")}.isdisjoint(_NAMES["multi_device"]):
        return arguments[0].device_index
    name = name.removesuffix("_")
    overload = f"{name}.{func._schema.overload_name}"
    if name in _ELEMENTWISE and overload not in _NAMES["checked_overloads"]:
        return check_elementwise(arguments, name not in _NAMES["no_cpu_scalars"])
    return check_each(func, arguments)


def refuse_if_only_on_cpu(func: torch._ops.OpOverload) -> None:
    """Raise CUDA's error for an operation that has no kernel for CUDA."""
    name = func._schema.name.removeprefix("aten::")
    if name in _NAMES["only_cpu"]:
        name = f"{name}.{func._schema.overload_name}".removesuffix(".")
        raise NotImplementedError(messages.no_kernel(name))


def _rule(*names: str) -> Callable[[Rule], Rule]:
    """Return a decorator that adds a rule for the operations in `names`."""

    def add(rule: Rule) -> Rule:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return add


@_rule("_pack_padded_sequence")
def pack_padded_sequence(func, args, kwargs):
    """The lengths must be on the CPU (PackedSequence.cpp)."""
    lengths = args[1]
    if index_of(lengths) != CPU:
        dtype = lengths.type().rpartition(".")[2].removesuffix("Tensor")
        values = lengths.dim(), device_of(lengths), dtype
        raise RuntimeError(messages.text("packed_lengths", *values))
    return index_of(args[0])


@_rule("where")
def _where(func, args, kwargs):
    """`where` moves all CPU scalars to the device before the check."""
    arguments = tensor_arguments(func, args, kwargs)
    return check_elementwise([a for a in arguments if a.tensor.dim() or a.device_index != CPU])


@_rule("mse_loss")
def _mse_loss(func, args, kwargs):
    """The subtraction accepts a CPU scalar; the mean that follows does not."""
    device_index = check_elementwise(tensor_arguments(func, args, kwargs))
    if args[2:3] != (0,) and not any(tensor.dim() for tensor in args[:2]):
        raise messages.two_devices(*map(device_of, args[:2]))
    return device_index


def _result_on_device_of(position: int) -> Rule:
    """Return the rule for element-wise operations whose result is where argument `position` is."""

    def rule(func: Any, args: tuple, kwargs: dict) -> int:
        result = Argument("result", args[position], written=True)
        return check_elementwise([result, *tensor_arguments(func, args, kwargs)])

    return rule


_RULES |= {
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), _result_on_device_of(0)),
    "soft_margin_loss": _result_on_device_of(0),
    "binary_cross_entropy_with_logits": _result_on_device_of(1),
}


@_rule("_ctc_loss")
def _ctc_loss(func, args, kwargs):
    """Targets may be on any device; lengths must be on the same device as the input."""
    arguments = [a for a in tensor_arguments(func, args, kwargs) if a.name != "targets"]
    return check_each(func, arguments)


@_rule("stack", "_stack")
def _stack(func, args, kwargs):
    """Runs as `cat` after a dimension is added to each tensor."""
    has_out = any(argument.is_out for argument in func._schema.arguments)
    method = "cat_out_out" if has_out else "cat"
    return check_each(func, tensor_arguments(func, args, kwargs), method)


@_rule("_scaled_dot_product_flash_attention_for_cpu")
def _masked_attention(func, args, kwargs):
    """On CUDA, attention with a mask uses another kernel if the sizes allow it."""
    mask = kwargs.get("attn_mask")
    if mask is None or len({index_of(tensor) for tensor in args[:3]}) > 1:
        return check_each(func, tensor_arguments(func, args, kwargs))
    return check_attention_mask(args[0], mask)


def check_attention_mask(query: torch.Tensor, mask: torch.Tensor) -> int:
    """Check the mask's device as the kernel that CUDA would select, and return its index."""
    query_index, mask_index = index_of(query), index_of(mask)
    if query_index == CPU and mask_index != CPU:
        raise NotImplementedError(messages.no_kernel("_scaled_dot_product_flash_attention_for_cpu"))
    if query_index != mask_index and query.shape[-1] % (4 if query.dtype == torch.float32 else 8):
        raise two_devices(query_index, mask_index)
    return check_named("__scaled_dot_product_efficient_attention", query=query, attn_bias=mask)


@_rule("native_batch_norm")
def _batch_norm(func, args, kwargs):
    """Runs in cuDNN if the input meets its conditions (native/Normalization.cpp)."""
    signal, weight, bias, mean, variance, training = args[:6]
    has_weight_and_bias = weight is not None and bias is not None
    statistics = (mean is None) == (variance is None) and (mean is not None or training)
    uses_cudnn = index_of(signal) >= 0 and signal.dim() >= 3 and has_weight_and_bias and statistics
    method = "_cudnn_batch_norm" if uses_cudnn else "_native_batch_norm"
    return check_each(func, tensor_arguments(func, args, kwargs), method)


@_rule("index", "_unsafe_index")
def _index(func, args, kwargs):
    """Indices may be on the CPU."""
    source = index_of(args[0])
    for index in args[1]:
        if index is not None and index_of(index) not in (CPU, source):
            raise RuntimeError(messages.text("indices", device_at(source)))
    return source


@_rule("index_put", "index_put_", "_unsafe_index_put", "_index_put_impl_")
def _index_put(func, args, kwargs):
    """Values must be on the tensor's device or be a CPU scalar; indices may be on any device."""
    source, values = index_of(args[0]), args[2]
    if index_of(values) != source and not (index_of(values) == CPU and values.dim() == 0):
        raise two_devices(source, index_of(values))
    return source


@_rule("index_fill", "index_fill_")
def _index_fill(func, args, kwargs):
    """The index must be on the tensor's device. The value is not checked: it becomes a number."""
    source, index = index_of(args[0]), index_of(args[2])
    if source != index:
        raise two_devices(source, index)
    return source


@_rule("masked_fill", "masked_fill_")
def _masked_fill(func, args, kwargs):
    """The mask must be on the tensor's device; the value may be a CPU scalar."""
    source, mask = index_of(args[0]), index_of(args[1])
    if source == CPU and func._schema.overload_name == "Tensor":
        raise RuntimeError("masked_fill_: Expected inputs to be on same device")
    if source != mask:
        raise RuntimeError(messages.text("masked_fill", device_at(mask), device_at(source)))
    return source


_STEP_SCALARS = ("lr", "grad_scale", "found_inf")


@_rule("_fused_adam_", "_fused_adamw_", "_fused_sgd_", "_fused_adagrad_")
def _fused_step(func, args, kwargs):
    """A step of a fused optimizer; a tensor `lr` may be on the CPU (FusedAdamKernel.cu)."""
    arguments = tensor_arguments(func, args, kwargs)
    if func._schema.overload_name == "tensor_lr":
        for argument in arguments:
            is_lr_on_cpu = argument.name == "lr" and argument.device_index == CPU
            is_wrong = argument.device_index != arguments[0].device_index and not is_lr_on_cpu
            if argument.name in _STEP_SCALARS and is_wrong:
                raise RuntimeError(f"{argument.name} must be on the same GPU device as the params")
        arguments = [a for a in arguments if a.name not in _STEP_SCALARS]
    return check_each(func, arguments)


# These run as `clamp_min` or `clamp_max`, whose generated wrapper checks the arguments.
_AS_CLAMP = {"maximum": "min", "minimum": "max", "clamp_min": "min", "clamp_max": "max"}


def _check_foreach(func, args, kwargs):
    """Check an operation on lists of tensors, such as `torch._foreach_add_`.

    If the tensors of a list are on several devices, PyTorch runs the operation once per position of
    the lists (`can_use_fast_route` in ATen/native/ForeachUtils.h). Tensors at the same position
    must be on the same device.
    """
    name = func._schema.name.partition("::")[2].removeprefix(FOREACH)
    limit = _AS_CLAMP.get(name.removesuffix("_"))
    values = (*args, *kwargs.values())
    lists = [
        value for value in values
        if isinstance(value, list | tuple) and value and isinstance(value[0], torch.Tensor)
    ]  # fmt: skip
    single = [value for value in values if isinstance(value, torch.Tensor)]
    for tensors in zip(*lists, strict=False):
        if limit is not None and len(tensors) == 2:
            method = f"clamp_{limit}{'__' if name.endswith('_') else '_'}Tensor"
            check_named(method, **{"self": tensors[0], limit: tensors[1]})
        elif name.removesuffix("_") != "copy":
            check_elementwise([Argument("self", tensor) for tensor in (*tensors, *single)])
    return index_of(lists[0][0])


def set_devices_of_lists(results: Any, args: tuple, memories: list[Any]) -> None:
    """Set the device of each result to that of the first list's tensor at the same position."""
    if isinstance(results, list | tuple):
        for result, tensor in zip(results, args[0], strict=False):
            if index_of(tensor) >= 0:
                set_devices(result, index_of(tensor), memories)
