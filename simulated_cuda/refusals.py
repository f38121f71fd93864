"""What CUDA refuses although the CPU accepts it, or with another error than the CPU's.

Also the one error of everything that is not simulated at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from . import convolutions, messages
from .messages import INTEGERS
from .places import CPU, index_of

Tensor = torch.Tensor

# The CPU's messages where a CUDA kernel stops at a device-side assertion.
_BAD_INDEX = re.compile(
    r"^Target -?\d+ is out of bounds|^index out of range in self"
    r"|^index -?\d+ is out of bounds for dimension|^out of range: tried to access"
    r"|^Class values must be (smaller|non-negative)"
)


def handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """The handlers for functions that run on CPU tensors only."""
    return dict.fromkeys((Tensor.apply_, Tensor.map_, Tensor.map2_), _only_on_cpu)


# The primitive matrix products, and the kernels that CUDA lacks for integers.
_KERNELS = {
    "mm": "addmm_cuda", "addmm": "addmm_cuda", "addbmm": "addmm_cuda", "bmm": "baddbmm_cuda",
    "baddbmm": "baddbmm_cuda", "mv": "addmv_impl_cuda", "addmv": "addmv_impl_cuda", "dot": "dot",
    "vdot": "vdot",
}  # fmt: skip


_CONVOLUTIONS = (
    torch.conv1d, torch.conv2d, torch.conv3d, torch.conv_transpose1d, torch.conv_transpose2d,
    torch.conv_transpose3d, torch.convolution, torch.conv_tbc,
)  # fmt: skip


def device_handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """The handlers for everything that computes a matrix product or a convolution."""
    names = (*_KERNELS, "matmul", "inner", "matrix_power", "__matmul__", "__rmatmul__")
    products = {
        getattr(owner, name) for owner in (torch, Tensor) for name in names if hasattr(owner, name)
    }
    products |= {
        F.linear, torch.einsum, torch.tensordot, torch.chain_matmul, torch.linalg.multi_dot,
        torch.linalg.matrix_power, torch.linalg.matmul,
    }  # fmt: skip
    return {
        **dict.fromkeys(products, _product),
        **dict.fromkeys(_CONVOLUTIONS, _convolution),
    }


def _product(mode, func, args, kwargs, where):
    """A matrix product, which CUDA does not compute for integers."""
    if _has_integers(args) or (kwargs and _has_integers(kwargs.values())):
        with _NoIntegerProducts():
            return mode.run(func, args, kwargs, where)
    try:
        return mode.run(func, args, kwargs, where)
    except RuntimeError as error:
        # CUDA names the arguments of `addmm` as its schema does.
        text = str(error)
        if text.startswith("expected m1 and m2 to have"):
            raise RuntimeError(text.replace("m1 and m2", "mat1 and mat2", 1)) from None
        raise


def _convolution(mode, func, args, kwargs, where):
    """A convolution, which CUDA does not compute for integers either."""
    signal = args[0] if args else kwargs["input"]
    try:
        if signal.dtype in INTEGERS:
            with _NoIntegerProducts():
                return mode.run(func, args, kwargs, where)
        return mode.run(func, args, kwargs, where)
    except RuntimeError as error:
        # The CPU's kernel names the dtypes only.
        if not str(error).startswith("expected scalar type"):
            raise
        weight = args[1] if len(args) > 1 else kwargs["weight"]
        raise convolutions.different_types(signal, where, "weight", weight, where) from None


def _has_integers(values: Iterable[Any]) -> bool:
    for value in values:
        if isinstance(value, Tensor):
            if value.dtype in INTEGERS:
                return True
        elif isinstance(value, list | tuple) and _has_integers(value):
            return True
    return False


class _NoIntegerProducts(TorchDispatchMode):
    """Refuses integers in the matrix products and convolutions that an operation consists of."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Otherwise PyTorch imports its compiler at the first operation, which takes seconds.
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Run one primitive operation."""
        if func._schema.name == "aten::convolution":
            convolutions.refuse_integers(*args)
        kernel = _KERNELS.get(func._schema.name.partition("::")[2].removesuffix("_"))
        last = args[-1] if args else None
        if kernel and last.dtype in INTEGERS and all(each.numel() for each in args):
            name = INTEGERS[last.dtype]
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{name}'")
        return func(*args, **(kwargs or {}))


def _only_on_cpu(mode, func, args, kwargs):
    """`Tensor.apply_` and similar, which call a Python function for every element."""
    if index_of(args[0]) != CPU:
        raise TypeError(f"{func.__name__} is only implemented on CPU tensors")
    return func(*args, **kwargs)


def explain_failed_index(func: Callable[..., Any], args: tuple, error: Exception) -> None:
    """Raise CUDA's error for an index out of range that a kernel, not the host, would notice."""
    if not _BAD_INDEX.search(str(error)):
        return
    if func in (Tensor.__getitem__, Tensor.__setitem__):
        indices = args[1] if isinstance(args[1], tuple | list) else (args[1],)
        # A Python number is checked on the host, and so is a tensor with one element.
        if not any(isinstance(index, Tensor) and index.dim() for index in indices):
            return
    raise messages.device_assertion() from error
