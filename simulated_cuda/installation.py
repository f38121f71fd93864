"""Installing the simulated GPU in PyTorch, and removing it."""

import functools
import threading
from collections.abc import Callable
from concurrent.futures.thread import _WorkItem
from contextlib import ExitStack
from types import ModuleType
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.parameter import UninitializedTensorMixin as Uninitialized
from torch.overrides import _get_current_function_mode_stack, _pop_mode, _push_mode
from torch.utils._device import DeviceContext
from torch.utils.hooks import BackwardHook

from . import (
    autocast,
    cuda_api,
    device_tags,
    generators,
    gradients,
    inspection,
    messages,
    placement,
    processes,
    settings,
    storages,
    streams,
    timed,
    training,
    unsupported,
    waits,
)  # fmt: skip
from .machine import Machine
from .mode import EveryAllocation, SimulatedCUDA

_MISSING = object()


class Installation:
    """A simulated machine, and the attributes of PyTorch that it replaces."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.mode = SimulatedCUDA(machine)
        if machine.clock is not None:
            self.mode.handlers |= timed.handlers()
        self._replaced: list[tuple[object, str, object]] = []
        self._modes = ExitStack()

    def install(self) -> None:
        """Replace PyTorch's device functions, then activate the mode."""
        try:
            device_tags.install()
            self._replace_all()
            storages.install_in_files(self.machine)
            processes.watch_forks(self.machine)
            push_at_bottom(self.mode)
            if self.machine.clock is not None:
                for timed_mode in timed.modes(self.machine):
                    self._modes.enter_context(timed_mode)
            elif self.machine.every_allocation:
                self._modes.enter_context(EveryAllocation(self.machine.memories))
        except BaseException:
            self.uninstall()
            raise

    def uninstall(self) -> None:
        """Restore everything that was replaced, in reverse order."""
        self._modes.close()
        waits.set_debug_mode(self.machine, 0)
        remove_from_stack(self.mode)
        storages.uninstall_from_files()
        while self._replaced:
            owner, name, original = self._replaced.pop()
            if original is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
        device_tags.uninstall()

    def _replace(self, owner: object, name: str, replacement: object) -> None:
        # getattr would unwrap static and class methods, which could not be restored then.
        original = vars(owner).get(name, _MISSING)
        self._replaced.append((owner, name, original))
        setattr(owner, name, replacement)

    def _wrap(self, owner: object, name: str, wrapper: Callable[..., Any]) -> None:
        if not hasattr(owner, name):
            values = owner, name, torch.__version__
            raise RuntimeError(messages.text("missing_attribute", *values))
        self._replace(owner, name, wrapper(getattr(owner, name)))

    def _wrap_default_device_mode(self, set_default: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap PyTorch's default device mode; if it runs later, the argument is the CPU already."""
        ours = self.mode

        def __torch_function__(mode, func, types, args=(), kwargs=None):
            if mode.device.type == "cuda" and ours not in _get_current_function_mode_stack():
                return func(*args, **(kwargs or {}))
            return set_default(mode, func, types, args, kwargs)

        return __torch_function__

    def _replace_all(self) -> None:
        self._replace_device_functions()
        self._replace_functions_of_torch()
        self._wrap_autograd()
        mode = self.mode
        self._wrap(DeviceContext, "__torch_function__", self._wrap_default_device_mode)
        for owner, name in ((threading.Thread, "_bootstrap_inner"), (_WorkItem, "run")):
            self._wrap(owner, name, functools.partial(processes.wrap_run, mode))

    def _replace_device_functions(self) -> None:
        machine = self.machine
        cuda = {
            **cuda_api.device_functions(machine),
            **cuda_api.memory_functions(machine),
            **unsupported.replacements(),
            **generators.replacements(machine),
            **streams.replacements(machine),
        }
        modules = (
            torch.cuda, torch.cuda.graphs, torch.cuda.memory, torch.cuda.random, torch.cuda.streams,
        )  # fmt: skip
        for name, replacement in cuda.items():
            for module in modules:
                if hasattr(module, name):
                    self._replace(module, name, _distinct(module, name, replacement))
        self._replace(torch.cuda, "_lazy_init", processes.lazy_init_replacement(machine))
        for name, dtype in settings.table("functions")["tensor_types"].items():
            self._replace(torch.cuda, name, cuda_api.tensor_type(getattr(torch, dtype), name))
        for name in ("range_push", "range_pop", "mark"):
            self._replace(torch.cuda.nvtx, name, lambda *args, **kwargs: 0)
        for name in ("start", "stop"):
            self._replace(torch.cuda.profiler, name, lambda: None)
        for owner, name, replacement in unsupported.other_replacements():
            self._replace(owner, name, replacement)
        for name, replacement in cuda_api.accelerator_functions(machine, cuda).items():
            for module in (torch.accelerator, getattr(torch.accelerator, "memory", None)):
                if module is not None and hasattr(module, name):
                    self._replace(module, name, _distinct(module, name, replacement))

    def _replace_functions_of_torch(self) -> None:
        machine, mode = self.machine, self.mode
        # With cuDNN, recurrent networks would pack their weights for a real GPU.
        self._replace(torch.backends.cudnn, "is_acceptable", lambda tensor: False)
        self._wrap(torch._C._nn, "_parse_to", lambda parse: placement.wrap_parse_to(mode, parse))
        self._wrap(torch._C, "_group_tensors_by_device_and_dtype", training.wrap_grouping)
        self._replace(torch, "Generator", generators.generator_class(machine))
        if hasattr(torch._C, "_cuda_getCurrentRawStream"):  # only if PyTorch was built with CUDA
            self._replace(torch._C, "_cuda_getCurrentRawStream",
                          lambda index: torch.cuda.current_stream(index).cuda_stream)  # fmt: skip
        for name in ("Stream", "Event"):
            self._replace(torch, name, getattr(streams, name))
        self._replace(torch, "compile", unsupported.identity_compiler("torch.compile"))
        for name in ("__enter__", "__exit__"):  # each step of an optimizer calls them
            self._wrap(torch.autograd.profiler.record_function, name, inspection.without_mode)
        self._wrap(torch.set_grad_enabled, "__init__", inspection.without_mode)
        self._wrap(torch.jit, "script", unsupported.wrap_script)
        self._replace(torch.jit, "trace", unsupported.identity_compiler("torch.jit.trace"))
        self._wrap(torch.autograd.profiler.profile, "__init__", unsupported.wrap_profiler)
        self._wrap(torch, "set_default_tensor_type", cuda_api.wrap_set_default_tensor_type)
        for owner in (torch, torch.utils.dlpack):
            self._wrap(owner, "to_dlpack", inspection.wrap_export)
            self._wrap(owner, "from_dlpack", inspection.wrap_import)
        for name in ("_to_dlpack", "_to_dlpack_versioned"):
            self._wrap(torch._C, name, inspection.wrap_export)
        self._replace(torch.Tensor, "record_stream", lambda tensor, stream: None)
        for name, replacement in (inspection.fast_attributes(mode) | mode.fast_operators()).items():
            self._replace(torch.Tensor, name, replacement)
        # PyTorch passes the replaced methods to subclasses, and this one compares them.
        allowed = [getattr(torch.Tensor, f.__name__, f) for f in Uninitialized._allowed_methods]
        self._replace(Uninitialized, "_allowed_methods", allowed)
        self._wrap(torch.Tensor, "_make_wrapper_subclass",
                   lambda create: storages.wrap_make_wrapper_subclass(mode, create))  # fmt: skip
        self._wrap(torch.Tensor, "_make_subclass", storages.wrap_make_subclass)
        for name, replacement in storages.replacements(machine).items():
            self._replace(torch.UntypedStorage, name, replacement)
        for function in training.COMM:
            self._replace(torch.nn.parallel.comm, function.__name__, function)
        self._wrap(torch, "set_autocast_enabled", autocast.wrap_set_enabled)
        for owner in (torch._tensor, torch.functional, torch.nn.functional):
            self._wrap(owner, "handle_torch_function", mode.wrap_handle_torch_function)
        if torch.distributed.is_available():
            self._wrap(torch.distributed, "init_process_group", training.wrap_init_process_group)

    def _wrap_autograd(self) -> None:
        mode = self.mode
        hooks = (
            (torch.autograd, "_engine_run_backward", gradients.wrap_engine),
            (BackwardHook, "_pack_with_none", gradients.wrap_hook_arguments),
            (BackwardHook, "setup_input_hook", gradients.wrap_hook_setup),
            (BackwardHook, "setup_output_hook", gradients.wrap_hook_setup),
            (torch.autograd.Function, "apply", gradients.wrap_apply),
            (BackwardCFunction, "apply", gradients.wrap_backward),
            (saved_tensors_hooks, "__init__", gradients.wrap_saved_tensor_hooks),
        )
        for owner, name, wrapper in hooks:
            self._wrap(owner, name, functools.partial(wrapper, mode))


def _distinct(module: ModuleType, name: str, replacement: Any) -> Any:
    """Return a separate function for every name: PyTorch's compiler has a table keyed by function.

    The function gets the module and name of the function that it replaces, so it can be pickled.
    """
    if isinstance(replacement, type) or not callable(replacement):
        return replacement

    def forward(*args: Any, **kwargs: Any) -> Any:
        return replacement(*args, **kwargs)

    forward.__module__, forward.__name__, forward.__qualname__ = module.__name__, name, name
    return forward


def push_at_bottom(mode: SimulatedCUDA) -> None:
    """Put the mode below all others, so that exiting another mode does not remove it."""
    others = [_pop_mode() for _ in range(len(_get_current_function_mode_stack()))]
    # PyTorch requires the mode of the default device to be the lowest.
    default = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    if others and others[-1] is default:
        _push_mode(others.pop())
    _push_mode(mode)
    for other in reversed(others):
        _push_mode(other)


def remove_from_stack(mode: SimulatedCUDA) -> None:
    """Remove the mode from any position in the stack."""
    stack = [_pop_mode() for _ in range(len(_get_current_function_mode_stack()))]
    for other in reversed(stack):
        if other is not mode:
            _push_mode(other)
