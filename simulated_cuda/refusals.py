"""What CUDA refuses although the CPU accepts it, or with another error than the CPU's.

Also the one error of everything that is not simulated at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from . import messages
from .places import CPU, index_of

Tensor = torch.Tensor

_INTEGERS = {
    torch.uint8: "Byte", torch.int8: "Char", torch.int16: "Short", torch.int32: "Int",
    torch.int64: "Long", torch.bool: "Bool",
}  # fmt: skip
# The CPU's messages where a CUDA kernel stops at a device-side assertion.
_BAD_INDEX = re.compile(
    r"^Target -?\d+ is out of bounds|^index out of range in self"
    r"|^index -?\d+ is out of bounds for dimension|^out of range: tried to access"
    r"|^Class values must be (smaller|non-negative)"
)


def handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """The handlers for functions that run on CPU tensors only."""
    return dict.fromkeys((Tensor.apply_, Tensor.map_, Tensor.map2_), _only_on_cpu)


def device_handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """The handlers for matrix products, which have no integer kernels on CUDA."""
    products = {
        _named("mm", "addmm_cuda"), _named("addmm", "addmm_cuda"), _named("bmm", "baddbmm_cuda"),
        _named("baddbmm", "baddbmm_cuda"), _named("mv", "addmv_impl_cuda"),
        _named("addmv", "addmv_impl_cuda"), _named("dot", "dot"), _named("vdot", "vdot"),
    }  # fmt: skip
    found: dict[Callable[..., Any], Callable[..., Any]] = {}
    for functions, kernel in products:
        found.update(dict.fromkeys(functions, _without_integers(lambda args, k=kernel: k)))
    matmuls = (torch.matmul, Tensor.matmul, Tensor.__matmul__, Tensor.__rmatmul__)
    found.update(dict.fromkeys(matmuls, _without_integers(_matmul_kernel)))
    found[F.linear] = _without_integers(lambda args: "addmm_cuda")
    found[torch.einsum] = _without_integers(lambda args: "baddbmm_cuda")
    found[torch.tensordot] = _without_integers(lambda args: "addmm_cuda")
    return found


def _named(name: str, kernel: str) -> tuple[tuple[Callable[..., Any], ...], str]:
    return (getattr(torch, name), getattr(Tensor, name)), kernel


def _matmul_kernel(args: tuple) -> str:
    dims = [value.dim() for value in args[:2]]
    if dims == [1, 1]:
        return "dot"
    if min(dims) == 1 and max(dims) == 2:
        return "addmv_impl_cuda"
    return "addmm_cuda" if min(dims) <= 2 else "baddbmm_cuda"


def _without_integers(kernel: Callable[[tuple], str]) -> Callable[..., Any]:
    def handler(mode, func, args, kwargs, where):
        tensors = [x for x in args if isinstance(x, Tensor)]
        if tensors and tensors[-1].dtype in _INTEGERS and all(x.numel() for x in tensors):
            raise NotImplementedError(
                f"\"{kernel(args)}\" not implemented for '{_INTEGERS[tensors[-1].dtype]}'"
            )
        return mode.run(func, args, kwargs, where)

    return handler


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
