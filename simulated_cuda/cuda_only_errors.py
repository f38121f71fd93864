"""Operations that fail only on CUDA, or that raise another error there than on the CPU."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch._prims_common import alert_not_deterministic
from torch.utils._pytree import tree_map_only

from . import convolutions, messages, rules, settings
from .device_tags import CPU, PLAIN, DispatchMode, functions_named, index_of
from .messages import INTEGERS

Tensor = torch.Tensor
_get_dtype = Tensor.dtype.__get__  # faster than the simulator's attribute

# Messages of CPU kernels for errors that cause a device-side assertion on CUDA.
_BAD_INDEX = re.compile(
    r"^Target -?\d+ is out of bounds|^index out of range in self"
    r"|^index -?\d+ is out of bounds for dimension|^out of range: tried to access"
    r"|^Class values must be (smaller|non-negative)"
)

_NAMES = settings.table("functions")
_NOT_DETERMINISTIC = _NAMES["not_deterministic"]
_KERNELS = _NAMES["products"]["kernels"]
# These are not deterministic only with some arguments.
_ONLY_IF: dict[str, Callable[[tuple, dict], bool]] = {
    "_embedding_bag_backward": lambda args, kwargs: args[8] == 2,  # the maximum
    "bincount": lambda args, kwargs: args[1:2] not in ((), (None,)),
    "histc": lambda args, kwargs: args[0].is_floating_point(),
    "median": lambda args, kwargs: len(args) > 1,
    "nanmedian": lambda args, kwargs: len(args) > 1,
    "nll_loss2d_forward": lambda args, kwargs: args[3] != 0,  # a mean or a sum
    "scatter": lambda args, kwargs: (
        kwargs == {"reduce": "multiply"} and isinstance(args[3], Tensor)
    ),
    "scatter_reduce": lambda args, kwargs: args[4] == "prod",
}
_HALF = {torch.float32: torch.float16, torch.complex64: torch.complex32}
# If an operation is computed in a wider dtype, its result is converted: from and to which dtype.
_NARROW = {
    **{name: {torch.float32: dtype} for dtype, name in INTEGERS.items()},
    "Bool": {torch.uint8: torch.bool}, "BFloat16": {torch.float32: torch.bfloat16},
    "Half": _HALF, "ComplexHalf": _HALF,
}  # fmt: skip
_NO_DTYPE = re.compile(
    r"^\"?(Unsupported dtype|MKL FFT|\w+)\"? (?:not implemented for |doesn't .*: |)'?(\w+)"
)
_NO_CPU_KERNEL = re.compile(
    r"^Could not run 'aten::([\w.]+)' with arguments from the 'CPU' backend"
)


def handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return the handlers for functions that accept CPU tensors only."""
    return dict.fromkeys((Tensor.apply_, Tensor.map_, Tensor.map2_), _only_on_cpu)


def device_handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return the handlers for all functions that compute a matrix product or a convolution."""
    refused = (
        torch.histogram, Tensor.histogram, torch.histogramdd, torch.linalg.lstsq, Tensor.to_mkldnn,
        torch.ops.quantized.linear_dynamic, torch.ops.quantized.linear_dynamic_fp16,
    )  # fmt: skip
    return {
        **dict.fromkeys(functions_named(_NAMES["with_refused_dtypes"]["names"]), _refused_dtype),
        **dict.fromkeys(functions_named([*_KERNELS, *_NAMES["products"]["names"]]), _product),
        **dict.fromkeys(functions_named(_NAMES["convolutions"]), _convolution),
        **dict.fromkeys(refused, _refused),
        # With the lengths on the GPU, which is an error.
        torch._pack_padded_sequence: lambda mode, func, args, kwargs, device_index: (
            rules.pack_padded_sequence(func, args, kwargs)
        ),
    }


def _product(mode, func, args, kwargs, device_index):
    """Run a matrix product; CUDA does not support integers."""
    # Nearly always, the first argument is a float32 tensor; the others then have the same dtype.
    is_float = args and type(args[0]) in PLAIN and _get_dtype(args[0]) is torch.float32
    try:
        if not is_float and _has_integers((*args, *kwargs.values())):
            return _refused(mode, func, args, kwargs, device_index)
        return mode.run(func, args, kwargs, device_index)
    except RuntimeError as error:
        # CUDA's message uses the argument names of `addmm`'s schema.
        text = str(error)
        if text.startswith("expected m1 and m2 to have"):
            raise RuntimeError(text.replace("m1 and m2", "mat1 and mat2", 1)) from None
        raise


def _convolution(mode, func, args, kwargs, device_index):
    """Run a convolution; CUDA does not support integers."""
    signal = args[0] if args else kwargs["input"]
    try:
        if _get_dtype(signal) in INTEGERS:
            return _refused(mode, func, args, kwargs, device_index)
        return mode.run(func, args, kwargs, device_index)
    except RuntimeError as error:
        # The CPU's message contains only the dtypes, CUDA's the tensor types.
        if not str(error).startswith("expected scalar type"):
            raise
        weight = args[1] if len(args) > 1 else kwargs["weight"]
        raise convolutions.different_types(signal, "weight", weight) from None


def _has_integers(values: Iterable[Any]) -> bool:
    for value in values:
        if isinstance(value, Tensor):
            if _get_dtype(value) in INTEGERS:
                return True
        elif isinstance(value, list | tuple) and _has_integers(value):
            return True
    return False


class Refusals(DispatchMode):
    """Raises CUDA's errors for the primitive operations on a GPU that it does not support."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Run one primitive operation."""
        kwargs = kwargs or {}
        name = func._schema.name.removeprefix("aten::")
        rules.refuse_if_only_on_cpu(func)
        # linalg_lstsq_out_info in native/BatchLinearAlgebra.cpp
        if name == "linalg_lstsq" and kwargs.get("driver") not in (None, "gels"):
            text = "`driver` other than `gels` is not supported on CUDA"
            raise RuntimeError(f"torch.linalg.lstsq: {text}")
        name = name.removesuffix("_")
        if name == "convolution":
            convolutions.refuse_integers(*args)
        with torch._C.DisableTorchFunction():
            _refuse_dtype(name, [value for value in args if isinstance(value, Tensor)])
            if name in _NOT_DETERMINISTIC:
                condition = _ONLY_IF.get(name)
                if condition is None or condition(args, kwargs):
                    alert_not_deterministic(_NOT_DETERMINISTIC[name])
            return func(*args, **kwargs)


def _refuse_dtype(name: str, tensors: list[Tensor]) -> None:
    """Raise CUDA's error if it has no kernel of an operation for the dtype of these tensors."""
    kernel, *dtypes = _NAMES["refused_dtypes"].get(name) or (_KERNELS.get(name), *INTEGERS.values())
    if kernel and all(tensor.numel() for tensor in tensors):
        dtype = tensors[-1 if name in _KERNELS else 0].type()
        dtype = dtype.rpartition(".")[2].removesuffix("Tensor")
        if dtype in dtypes:
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtype}'")


def _refused(mode, func, args, kwargs, device_index):
    with Refusals():
        return mode.run(func, args, kwargs, device_index)


def _refused_dtype(mode, func, args, kwargs, device_index):
    if (args[0] if args else kwargs["input"]).dtype in (torch.float32, torch.float64):
        return mode.run(func, args, kwargs, device_index)
    return _refused(mode, func, args, kwargs, device_index)


def run_in_wider_dtype(func: Callable[..., Any], args: tuple, kwargs: dict, error: Exception):
    """Return the result if CUDA, unlike the CPU with this error, supports the dtype; or None."""
    match = _NO_DTYPE.search(str(error))
    is_written = func.__name__.endswith("_") or "out" in kwargs
    if match is None or is_written or match[1] not in _NAMES["wider_dtypes"].get(match[2], ()):
        return None
    back = _NARROW[match[2]]
    wider = {narrow: wide for wide, narrow in back.items()}
    values = tree_map_only(Tensor, lambda x: x.to(wider.get(x.dtype, x.dtype)), (args, kwargs))
    result = func(*values[0], **values[1])
    return tree_map_only(Tensor, lambda x: x.to(back.get(x.dtype, x.dtype)), result)


def _only_on_cpu(mode, func, args, kwargs):
    """`Tensor.apply_` and similar functions, which call a Python function for every element."""
    if index_of(args[0]) != CPU:
        raise TypeError(f"{func.__name__} is only implemented on CPU tensors")
    return func(*args, **kwargs)


def explain_missing_kernel(error: Exception) -> None:
    """Raise an error for an operation without a kernel for the CPU."""
    match = _NO_CPU_KERNEL.search(str(error))
    if not match:
        return
    name = match.group(1)
    if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "CUDA"):
        raise NotImplementedError(messages.no_kernel(name)) from None
    raise messages.not_simulated(
        f"aten::{name}", "PyTorch has no CPU version of it. Use a machine with a GPU."
    ) from None


def explain_failed_index(func: Callable[..., Any], args: tuple, error: Exception) -> None:
    """Raise CUDA's error for an index out of range if CUDA checks it in the kernel."""
    if not _BAD_INDEX.search(str(error)):
        return
    if func in (Tensor.__getitem__, Tensor.__setitem__):
        indices = args[1] if isinstance(args[1], tuple | list) else (args[1],)
        # Python numbers and 0-dimensional tensors are checked on the host.
        if not any(isinstance(index, Tensor) and index.dim() for index in indices):
            return
    raise messages.device_assertion() from error
