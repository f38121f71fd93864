"""Features of CUDA that are not simulated: using one raises `NotSimulatedError` with advice.

PyTorch's compilers and its profiler give a warning instead.
"""

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch

from . import messages, settings

_NAMES = settings.table("functions")["not_simulated"]


def replacements() -> dict[str, Callable[..., Any]]:
    """Return the replacements for functions and classes of `torch.cuda`, by name."""
    return {
        name.removeprefix("memory."): _not_simulated(torch.cuda, name, row["advice"])
        for row in _NAMES
        if row["owner"] == "torch.cuda"
        for name in row["names"]
    }


def other_replacements() -> list[tuple[object, str, Any]]:
    """Return the owner, name and replacement of each unsupported attribute elsewhere."""
    # Some modules and names are new or gone in some version of PyTorch.
    rows = [(sys.modules.get(r["owner"]), r) for r in _NAMES if r["owner"] != "torch.cuda"]
    return [
        *((owner, name, _not_simulated(owner, name, row["advice"]))
          for owner, row in rows for name in row["names"] if hasattr(owner, name)),
        (torch.backends.cuda.cuFFTPlanCache, "clear", lambda cache: None),
        # Creating a function is allowed: PyTorch compiles it in the first call.
        (torch.cuda.jiterator._JittedFunction, "__call__",
         _refusal("torch.cuda.jiterator", messages.text("jiterator"))),
        (torch.export, "export", _refusal("torch.export", messages.text("export"))),
    ]  # fmt: skip


def _refusal(name: str, advice: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise messages.not_simulated(name, advice)

    return refuse


def _not_simulated(owner: Any, name: str, advice: str) -> Callable[..., Any]:
    """Return a function or class that raises `NotSimulatedError` when called."""
    refuse = _refusal(f"{owner.__name__}.{name}", advice)
    if isinstance(getattr(owner, name, None), type):
        # A class, so that isinstance(x, torch.cuda.MemPool) still works.
        return type(name, (), {"__module__": owner.__name__, "__new__": refuse})
    return refuse


def identity_compiler(name: str, stacklevel: int = 2) -> Callable[..., Any]:
    """Return a replacement for a compiler that warns and returns the function unchanged."""

    def return_unchanged(model: Any = None, *args: Any, **options: Any) -> Any:
        warnings.warn(messages.text("compiler", name), stacklevel=stacklevel)
        return (lambda function: function) if model is None else model

    return return_unchanged


def wrap_script(script: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `torch.jit.script` to return functions unchanged; PyTorch's own need their graphs."""
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
        profiler: Any, *args: Any, use_device: str | None = None, use_cpu: bool = True,
        **options: Any,
    ) -> None:  # fmt: skip
        if use_device == "cuda":
            if not use_cpu:
                raise messages.not_simulated(
                    "a profile of CUDA activity",
                    "A simulated GPU has no kernels to record. Add ProfilerActivity.CPU.",
                )
            warnings.warn(messages.text("profiler"), stacklevel=3)
            use_device = None
        initialize(profiler, *args, use_device=use_device, use_cpu=use_cpu, **options)

    return __init__
