"""Replacements for PyTorch's compilers and its profiler, which need a real GPU."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any

from . import messages


def identity_compiler(name: str, stacklevel: int = 2) -> Callable[..., Any]:
    """Return a replacement for a compiler that warns and returns the function unchanged."""

    def return_unchanged(model: Any = None, *args: Any, **options: Any) -> Any:
        warnings.warn(
            f"The GPU is simulated, so {name} returns your function unchanged. The results are the "
            "same; the speed is not that of a compiled function.",
            stacklevel=stacklevel,
        )
        return (lambda function: function) if model is None else model

    return return_unchanged


def wrap_script(script: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `torch.jit.script` to return functions unchanged, except in PyTorch's own code.

    Forward-mode automatic differentiation needs the graphs of PyTorch's decompositions.
    """
    unchanged = identity_compiler("torch.jit.script", stacklevel=3)

    def script_internal_code(*args: Any, **options: Any) -> Any:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        internal = caller.startswith(("torch._decomp.", "torch.jit."))
        return (script if internal else unchanged)(*args, **options)

    return script_internal_code


def wrap_profiler(initialize: Callable[..., None]) -> Callable[..., None]:
    """Wrap the constructor of PyTorch's profiler to record only CPU activity."""

    @functools.wraps(initialize)
    def __init__(
        profiler: Any,
        *args: Any,
        use_device: str | None = None,
        use_cpu: bool = True,
        **options: Any,
    ) -> None:
        if use_device == "cuda":
            if not use_cpu:
                raise messages.not_simulated(
                    "a profile of CUDA activity",
                    "A simulated GPU has no kernels to record. Add ProfilerActivity.CPU.",
                )
            warnings.warn(
                "The GPU is simulated and has no kernels to record. The profiler records CPU "
                "activity only.",
                stacklevel=3,
            )
            use_device = None
        initialize(profiler, *args, use_device=use_device, use_cpu=use_cpu, **options)

    return __init__
