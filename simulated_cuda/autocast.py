"""`torch.autocast("cuda")`: run the same operations in lower precision as on CUDA.

PyTorch has one autocast setting per device type. Each operation on a simulated device runs with
CPU autocast, set to CUDA's dtype. The two device types differ in a few operations: if only CUDA
runs an operation in full precision, this module converts its arguments; if only the CPU does,
autocast is off (aten/src/ATen/autocast_mode.h and autocast_mode.cpp).
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch.utils._pytree import tree_map

from . import messages, settings
from .device_tags import functions_named

_NAMES = settings.table("functions")["autocast"]
FULL_PRECISION = functions_named(_NAMES["full_precision"])
UNCHANGED = functions_named(_NAMES["full_precision_on_cpu_only"]) - FULL_PRECISION
RECURRENT = frozenset(getattr(torch._VF, name) for name in _NAMES["recurrent"])
CONVERTED_BACK = functions_named(_NAMES["converted_back"])
_UNSAFE = functions_named(["binary_cross_entropy"])
# Whether autocast was ever enabled. Until then, operations skip the autocast check.
state = SimpleNamespace(used=False)


def wrap_set_enabled(set_enabled: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `torch.set_autocast_enabled` to record the use of autocast."""

    def switch(*args: Any, **kwargs: Any) -> Any:
        state.used = True
        return set_enabled(*args, **kwargs)

    return switch


def is_enabled() -> bool:
    """Return whether autocast is enabled for either device type."""
    return torch.is_autocast_enabled("cuda") or torch.is_autocast_enabled("cpu")


def run(func: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """Run one operation in the precision of CUDA's autocast; the CPU's own is off meanwhile."""
    if not torch.is_autocast_enabled("cuda"):
        torch.set_autocast_enabled("cpu", False)
        try:
            return func(*args, **kwargs)
        finally:
            torch.set_autocast_enabled("cpu", True)
    if func in _UNSAFE:
        raise RuntimeError(messages.text("binary_cross_entropy"))
    if func in UNCHANGED:
        return func(*args, **kwargs)
    if func in RECURRENT:
        full = func(*tree_map(_as_full, args), **kwargs)
        low = torch.get_autocast_dtype("cuda")
        return tree_map(lambda value: _convert(value, low, torch.float32), full)
    if func in FULL_PRECISION:
        args = tuple(_as_full(value) for value in args)
        kwargs = {name: _as_full(value) for name, value in kwargs.items()}
    before = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    _set_cpu(True, torch.get_autocast_dtype("cuda"))
    try:
        result = func(*args, **kwargs)
    finally:
        _set_cpu(*before)
    return result.to(args[0].dtype) if func in CONVERTED_BACK else result


def _set_cpu(enabled: bool, dtype: torch.dtype) -> None:
    torch.set_autocast_enabled("cpu", enabled)
    torch.set_autocast_dtype("cpu", dtype)


def _convert(value: Any, dtype: torch.dtype, *from_dtypes: torch.dtype) -> Any:
    is_one = isinstance(value, torch.Tensor) and value.dtype in from_dtypes
    return value.to(dtype) if is_one else value


def _as_full(value: Any) -> Any:
    return _convert(value, torch.float32, torch.float16, torch.bfloat16)
