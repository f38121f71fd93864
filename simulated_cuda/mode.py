"""A mode that intercepts every operation, runs it on the CPU and tracks its result's device.

If all tensors are on one device, as in nearly all operations, the operation runs directly.
Operations on several devices go to `mixed_devices.py`, which performs the same checks as CUDA.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from . import (
    autocast,
    cuda_only_errors,
    generators,
    gradients,
    inspection,
    messages,
    mixed_devices,
    placement,
    settings,
    storages,
    tracebacks,
)  # fmt: skip
from .device_tags import CPU, PLAIN, UNKNOWN, DispatchMode, set_devices, storage_of, tag_of, thread
from .machine import Machine
from .memory import DeviceMemory

Tensor = torch.Tensor
_is_deterministic = torch._C._get_deterministic_algorithms
_is_cpu = Tensor.is_cpu.__get__
# PyTorch's C functions, which are faster than its Python wrappers for them.
_is_any_mode_active = torch._C._is_torch_function_mode_enabled
_pop_mode = torch._C._pop_torch_function_stack
_push_mode = torch._C._push_on_torch_function_stack
_NUMBERS = frozenset({float, int})

# Takes this mode, the function, its args and its kwargs.
Handler = Callable[["SimulatedCUDA", Callable[..., Any], tuple, dict[str, Any]], Any]

# Results of `_common_device_index` other than a device index or `CPU`.
_NO_TENSOR = -2
_MIXED = -3
_PLAIN_OR_NONE = PLAIN | {type(None)}
# The types of most arguments that are not tensors.
_NO_TENSORS = frozenset({bool, float, int, str, type(None)})


class SimulatedCUDA(TorchFunctionMode):
    """Simulates the CUDA devices of one machine for all operations of the current thread."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine = machine
        self.memories = machine.memories
        self.uses_hooks = False  # whether hooks for saved tensors were ever created
        modules = placement, inspection, gradients, storages, cuda_only_errors
        self.handlers: dict[Callable[..., Any], Handler] = {
            func: handler for module in modules for func, handler in module.handlers().items()
        }
        # For operations whose tensors are all on one simulated device: its index is an argument.
        special = generators.device_handlers() | cuda_only_errors.device_handlers()
        self.device_handlers: dict[Callable[..., Any], Callable[..., Any]] = special

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Run one operation, or raise CUDA's error without the simulator's frames."""
        try:
            handler = self.handlers.get(func)
            if handler is not None:
                return handler(self, func, args, kwargs or {})
            if kwargs:
                if "device" in kwargs:
                    return placement.make(self, func, args, kwargs)
                device_index = _common_device_index((*args, *kwargs.values()))
                if kwargs.get("generator") is not None:
                    placement.check_generator(kwargs["generator"], device_index)
            else:
                kwargs = {}
                device_index = _common_device_index(args)
            if device_index >= 0:
                special = self.device_handlers.get(func)
                if special is not None:
                    return special(self, func, args, kwargs, device_index)
                return self.run(func, args, kwargs, device_index)
            if device_index == _MIXED:
                return mixed_devices.run(self, func, args, kwargs)
            return func(*args, **kwargs)
        except Exception as error:
            # Set the traceback before raising again, so that it does not include this frame.
            error.__traceback__ = tracebacks.without_simulator(error.__traceback__)
            raise

    def wrap_handle_torch_function(self, handle: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap PyTorch's `handle_torch_function` to call this mode faster."""

        def call(
            public_api: Callable[..., Any], relevant: Iterable[Any], /, *args: Any, **kwargs: Any
        ) -> Any:
            try:
                is_plain = _PLAIN_OR_NONE.issuperset(map(type, relevant))
                if is_plain and _is_any_mode_active():
                    top = self  # if a signal's handler raises before `top` is set below
                    try:
                        top = _pop_mode()
                        if top is self:
                            return self.__torch_function__(public_api, (), args, kwargs)
                    finally:
                        _push_mode(top)
                return handle(public_api, relevant, *args, **kwargs)
            except Exception as error:
                error.__traceback__ = tracebacks.without_simulator(error.__traceback__)
                raise

        return functools.wraps(handle)(call)

    def fast_operators(self) -> dict[str, Callable[..., Any]]:
        """Return replacements for operators of `torch.Tensor` that call this mode faster."""
        machine, count_dispatch_modes = self.machine, torch._C._len_torch_dispatch_stack
        names = settings.table("functions")["operators"]

        def fast(operator: Callable[..., Any], method: Callable[..., Any]) -> Callable[..., Any]:
            def call(tensor: Tensor, other: Any) -> Any:
                kind = type(other)
                try:
                    # Not if Python code may run during an operation: it needs `thread.running`.
                    if not (
                        type(tensor) not in PLAIN or (kind not in PLAIN and kind not in _NUMBERS)
                        or self.uses_hooks or count_dispatch_modes() or machine.forked
                        or autocast.state.used or _is_deterministic() or not _is_any_mode_active()
                    ):  # fmt: skip
                        top = self  # as above
                        try:
                            top = _pop_mode()
                            index = storage_of(tensor).device_tag.index
                            others = tensor if kind in _NUMBERS else other
                            if top is self and storage_of(others).device_tag.index == index >= 0:
                                result = method(tensor, other)
                                storage = storage_of(result)
                                if storage.device_tag is UNKNOWN:
                                    memory = self.memories[index]
                                    memory.allocate(storage, thread.backward_depth > 0)
                                return result
                        except torch.OutOfMemoryError:
                            raise
                        except (IndexError, RuntimeError):
                            pass  # The mode runs the operation again, and explains it.
                        finally:
                            _push_mode(top)
                    return operator(tensor, other)
                except Exception as error:
                    error.__traceback__ = tracebacks.without_simulator(error.__traceback__)
                    raise

            return functools.wraps(operator)(call)

        return {k: fast(getattr(Tensor, k), getattr(Tensor, v)) for k, v in names.items()}

    def run(self, func: Callable[..., Any], args: tuple, kwargs: dict, device_index: int) -> Any:
        """Run an operation whose tensors are all on the same device; set its result's device."""
        if self.machine.forked:
            raise messages.initialization_error()
        previous = thread.running
        thread.running = device_index
        try:
            if autocast.state.used and autocast.is_enabled():
                result = autocast.run(func, args, kwargs)
            elif _is_deterministic():
                with cuda_only_errors.Refusals():
                    result = func(*args, **kwargs)
            else:
                result = func(*args, **kwargs)
        except (IndexError, RuntimeError) as error:
            self.memories[device_index].explain_failed_allocation(error)
            cuda_only_errors.explain_failed_index(func, args, error)
            cuda_only_errors.explain_missing_kernel(error)
            result = cuda_only_errors.run_in_wider_dtype(func, args, kwargs, error)
            if result is None:
                raise
        finally:
            thread.running = previous
        if type(result) is torch.Tensor:
            # A faster version of `set_devices`, since this code runs for every operation.
            try:
                storage = storage_of(result)
                if storage.device_tag is not UNKNOWN:
                    return result
                has_cpu_storage = _is_cpu(result)
            except (NotImplementedError, RuntimeError):
                has_cpu_storage = False
            if has_cpu_storage:
                self.memories[device_index].allocate(storage, thread.backward_depth > 0)
                return result
        elif isinstance(result, list | tuple) and result and args:
            # A list that the operation changed in place.
            first = args[0][0] if isinstance(args[0], list | tuple) and args[0] else None
            if result[0] is first:
                return result
        set_devices(result, device_index, self.memories, guess=thread.backward_depth > 0)
        return result


def _common_device_index(values: Any) -> int:
    """Return the index of the common device of tensors in `values`, `_NO_TENSOR` or `_MIXED`."""
    common = _NO_TENSOR
    for value in values:
        kind = type(value)
        if kind in PLAIN:
            try:
                device_index = storage_of(value).device_tag.index
            except (NotImplementedError, RuntimeError):
                device_index = tag_of(value).index
        elif kind is list or kind is tuple:
            if _NO_TENSORS.issuperset(map(type, value)):
                continue
            device_index = _common_device_index(value)
            if device_index == _NO_TENSOR:
                continue
        elif kind in _NO_TENSORS or not isinstance(value, torch.Tensor):
            continue
        else:
            device_index = tag_of(value).index
        if common == _NO_TENSOR:
            common = device_index
        elif device_index != common:
            return _MIXED
    return common


_PRODUCTS = {getattr(torch.ops.aten, n).default for n in ("mm", "addmm", "bmm", "baddbmm")}


class EveryAllocation(DispatchMode):
    """Sets the device of each tensor when it is created, so that peaks are exact.

    A function mode receives only the results of functions called from Python, a dispatch mode also
    those of the backward pass and of the steps inside an operation, which run in C++.
    """

    def __init__(self, memories: list[DeviceMemory]) -> None:
        super().__init__()
        self.memories = memories

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        """Run one operation and set its result's device to that of the enclosing operation."""
        # The function mode has handled this operation, or, in a backward pass, must not handle it.
        with torch._C.DisableTorchFunction():
            result = self.compute(operation, args, kwargs or {})
            device_index = thread.running
            if device_index == CPU and thread.backward_depth:
                tensors = (x for x in tree_leaves(args) if isinstance(x, torch.Tensor))
                device_index = max((tag_of(tensor).index for tensor in tensors), default=CPU)
            if device_index != CPU:
                set_devices(result, device_index, self.memories, guess=thread.backward_depth > 0)
                if operation is torch.ops.aten._softmax_backward_data.default:
                    # CUDA's function computes the product of its arguments first.
                    set_devices(torch.empty_like(args[0]), device_index, self.memories)
                self.note(operation, args, kwargs or {}, result, device_index)
            return result

    def compute(self, operation, args: tuple, kwargs: dict) -> Any:
        """Return the result of an operation."""
        if operation in _PRODUCTS and args[0].dtype in (torch.float16, torch.bfloat16):
            # Many CPUs compute products of 16-bit numbers up to 70 times slower than in float32.
            full = (x.float() if isinstance(x, torch.Tensor) else x for x in args)
            return operation(*full, **kwargs).to(args[0].dtype)
        return operation(*args, **kwargs)

    def note(self, operation, args: tuple, kwargs: dict, result: Any, device_index: int) -> None:
        """Called after each operation on a simulated device."""
