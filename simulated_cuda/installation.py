"""Puts the stand-ins into PyTorch and takes them out again, leaving it as it was."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction
from torch.overrides import _get_current_function_mode_stack, _pop_mode, _push_mode
from torch.utils._device import DeviceContext
from torch.utils.hooks import BackwardHook

from . import (
    accelerator_api,
    autocast,
    cuda_api,
    factories,
    files,
    generators,
    gradients,
    memory_api,
    moving,
    parallel,
    places,
    processes,
    streams,
)  # fmt: skip
from .machine import Machine
from .mode import SimulatedCUDA

_MISSING = object()
# torch.cuda's types of tensors, such as torch.cuda.FloatTensor.
_TYPES = {
    "FloatTensor": torch.float32, "DoubleTensor": torch.float64, "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16, "ByteTensor": torch.uint8, "CharTensor": torch.int8,
    "ShortTensor": torch.int16, "IntTensor": torch.int32, "LongTensor": torch.int64,
    "BoolTensor": torch.bool,
}  # fmt: skip


class Installation:
    """One simulated machine in one PyTorch, and what it replaced there."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.mode = SimulatedCUDA(machine)
        self._replaced: list[tuple[object, str, object]] = []

    def put_in(self) -> None:
        """Replace what speaks of devices, then let the mode see every operation."""
        try:
            self._replace_all()
            places.install()
            files.install(self.machine)
            processes.watch_forks(self.machine)
            push_at_bottom(self.mode)
        except BaseException:
            self.take_out()
            raise

    def take_out(self) -> None:
        """Put back everything that was replaced, in the opposite order."""
        remove_from_stack(self.mode)
        files.uninstall()
        while self._replaced:
            owner, name, original = self._replaced.pop()
            if original is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
        places.uninstall()
        places.forget_all()

    def _replace(self, owner: object, name: str, replacement: object) -> None:
        # vars: a method of a class is to be put back as the function it is there.
        original = vars(owner).get(name, _MISSING)
        self._replaced.append((owner, name, original))
        setattr(owner, name, replacement)

    def _wrap(self, owner: object, name: str, wrapper: Callable[..., Any]) -> None:
        if hasattr(owner, name):
            self._replace(owner, name, wrapper(getattr(owner, name)))

    def _with_simulated_default(self, put_default: Callable[..., Any]) -> Callable[..., Any]:
        """PyTorch's mode for a default device, minding whether our mode comes before or after it.

        Below ours, what gets here is for the CPU already, whatever the default is.
        """
        ours = self.mode

        def __torch_function__(mode, func, types, args=(), kwargs=None):
            if mode.device.type == "cuda" and ours not in _get_current_function_mode_stack():
                return func(*args, **(kwargs or {}))
            return put_default(mode, func, types, args, kwargs)

        return __torch_function__

    def _replace_all(self) -> None:
        machine, mode = self.machine, self.mode
        cuda = {
            **cuda_api.replacements(machine),
            **memory_api.replacements(machine),
            **streams.replacements(machine),
        }
        for name, replacement in cuda.items():
            for module in (torch.cuda, torch.cuda.memory, torch.cuda.random, torch.cuda.streams):
                if hasattr(module, name):
                    self._replace(module, name, _distinct(replacement))
        for name, dtype in _TYPES.items():
            self._replace(torch.cuda, name, cuda_api.tensor_type(machine, dtype, name))
        for name in ("range_push", "range_pop", "mark"):
            self._replace(torch.cuda.nvtx, name, lambda *args, **kwargs: 0)
        for name, replacement in accelerator_api.replacements(machine, cuda).items():
            for module in (torch.accelerator, getattr(torch.accelerator, "memory", None)):
                if module is not None and hasattr(module, name):
                    self._replace(module, name, _distinct(replacement))
        # There is no cuDNN here to pack the weights of recurrent networks for.
        self._replace(torch.backends.cudnn, "is_acceptable", lambda tensor: False)
        self._wrap(torch._C._nn, "_parse_to", lambda parse: moving.parsing_places(mode, parse))
        self._replace(torch, "Generator", generators.replacement(machine))
        self._replace(torch, "compile", cuda_api.as_it_is("torch.compile"))
        self._replace(torch.jit, "script", cuda_api.as_it_is("torch.jit.script"))
        self._replace(torch.jit, "trace", cuda_api.as_it_is("torch.jit.trace"))
        for name in ("nested_tensor", "as_nested_tensor"):
            self._wrap(torch.nested, name, lambda function: factories.making(mode, function))
        self._replace(torch.Tensor, "record_stream", lambda tensor, stream: None)
        for name, replacement in parallel.replacements().items():
            self._replace(torch.nn.parallel.comm, name, replacement)
        self._wrap(torch, "set_autocast_enabled", autocast.remember)
        self._wrap(torch.autograd, "_engine_run_backward",
                   lambda run: gradients.with_places(mode, run))  # fmt: skip
        self._wrap(BackwardHook, "_pack_with_none",
                   lambda pack: gradients.hook_arguments_with_places(mode, pack))  # fmt: skip
        for name in ("setup_input_hook", "setup_output_hook"):
            self._wrap(
                BackwardHook, name, lambda begin: gradients.module_hooks_with_places(mode, begin)
            )
        self._wrap(torch.autograd.Function, "apply",
                   lambda apply: gradients.applying_with_places(mode, apply))  # fmt: skip
        self._wrap(BackwardCFunction, "apply",
                   lambda apply: gradients.backward_with_places(mode, apply))  # fmt: skip
        self._wrap(torch.autograd.graph.saved_tensors_hooks, "__init__",
                   lambda begin: gradients.saving_with_places(mode, begin))  # fmt: skip
        self._wrap(DeviceContext, "__torch_function__", self._with_simulated_default)
        self._wrap(threading.Thread, "_bootstrap_inner",
                   lambda run: processes.in_every_thread(mode, run))  # fmt: skip


def _distinct(replacement: Any) -> Any:
    """A function of its own for every name: PyTorch's compiler keeps a table by function."""
    if isinstance(replacement, type) or not callable(replacement):
        return replacement

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        return replacement(*args, **kwargs)

    return stand_in


def push_at_bottom(mode: SimulatedCUDA) -> None:
    """Put the mode under all others, so that leaving one of those does not take this one away."""
    others = [_pop_mode() for _ in range(len(_get_current_function_mode_stack()))]
    # PyTorch insists that the default device, once set, is the lowest of all.
    default = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    if others and others[-1] is default:
        _push_mode(others.pop())
    _push_mode(mode)
    for other in reversed(others):
        _push_mode(other)


def remove_from_stack(mode: SimulatedCUDA) -> None:
    """Take the mode away, wherever it is among the others."""
    stack = [_pop_mode() for _ in range(len(_get_current_function_mode_stack()))]
    for other in reversed(stack):
        if other is not mode:
            _push_mode(other)
