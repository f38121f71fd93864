"""Handlers that set the devices of gradients in `.grad`, in hooks and in custom functions.

PyTorch's autograd engine computes gradients in C++, where no mode can intercept them. Their device
is therefore set when Python code first accesses them.
"""

from collections.abc import Callable
from contextlib import nullcontext
from inspect import getattr_static
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction
from torch.overrides import _get_current_function_mode_stack

from . import cuda_only_errors, messages
from .device_tags import (
    CPU,
    UNKNOWN,
    device_of,
    index_of,
    move_storage,
    set_devices,
    storage_of,
    tag_of,
    thread,
)  # fmt: skip

Tensor = torch.Tensor
_grad = Tensor.grad.__get__
_HOOKED = "simulated_cuda"


def handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return the handlers for gradients, `.data`, hooks and the start of a backward pass."""
    return {
        _grad: lambda mode, func, args, kwargs: get_gradient(mode, *args),
        Tensor.grad.__set__: set_gradient,
        Tensor.data.__set__: set_data,
        Tensor.backward: start_backward,
        torch.autograd.backward: start_backward,
        torch.autograd.grad: compute_gradients,
        Tensor.register_hook: register_hook,
        Tensor.grad_fn.__get__: get_grad_fn,
    }


def get_gradient(mode, tensor: Tensor) -> Tensor | None:
    """`tensor.grad`: on the tensor's device, unless the tensor or its gradient was moved."""
    gradient = _grad(tensor)
    if gradient is not None:
        set_device_of_gradient(mode, gradient, index_of(tensor))
    return gradient


def set_device_of_gradient(mode, gradient: Tensor, device_index: int) -> None:
    """Set the device of a gradient that autograd computed, unless it is already known."""
    try:
        storage = storage_of(gradient)
    except (NotImplementedError, RuntimeError):
        tag = tag_of(gradient)
        if not tag.is_set or (tag.guessed and tag.index != device_index):
            set_devices(gradient, device_index, mode.memories, guess=True)
    else:
        set_device_of_storage(mode, storage, device_index)


def set_device_of_storage(mode, storage: torch.UntypedStorage, device_index: int) -> None:
    """Set the device of a gradient's storage, unless it is already known."""
    tag = storage.device_tag
    if not tag.is_set:
        if device_index >= 0:
            mode.memories[device_index].allocate(storage, guessed=True)
    elif tag.guessed and tag.index != device_index:
        move_storage(storage, device_index, mode.memories, guess=True)
        if device_index < 0:
            storage.device_tag = UNKNOWN


def set_gradient(mode, func, args, kwargs):
    """`tensor.grad = gradient`, which must be on the tensor's device."""
    owner, gradient = args
    owner_index = index_of(owner)
    gradient_index = index_of(gradient) if isinstance(gradient, Tensor) else owner_index
    if owner_index == gradient_index:
        return func(*args)
    if CPU in (owner_index, gradient_index):
        found, expected = (f"with device type '{device_of(x).type}'" for x in (gradient, owner))
    else:
        # PyTorch prints the indices as characters.
        text = "located on device with index"
        found, expected = f"{text} '{chr(gradient_index)}'", f"{text} '{chr(owner_index)}'"
    raise RuntimeError(messages.text("assigned_gradient", found, expected))


def set_data(mode, func, args, kwargs):
    """`tensor.data = other`: moves the tensor to the device of `other`, but not its gradient."""
    owner, other = args
    gradient = _grad(owner)
    if gradient is not None and index_of(owner) != index_of(other):
        if index_of(owner) != CPU:
            get_gradient(mode, owner)
        elif not tag_of(gradient).is_set:
            set_devices(gradient, CPU, [])
    return func(*args)


def start_backward(mode, func, args, kwargs):
    """`loss.backward(gradient)` and `torch.autograd.backward(tensors, grad_tensors)`."""
    seeds = args[1] if len(args) > 1 else kwargs.get("gradient", kwargs.get("grad_tensors"))
    if seeds is not None:
        _check_seeds(args[0] if args else kwargs.get("tensors"), seeds)
    return func(*args, **kwargs)


def compute_gradients(mode, func, args, kwargs):
    """`torch.autograd.grad(outputs, inputs, grad_outputs)`."""
    outputs = args[0] if args else kwargs["outputs"]
    inputs = args[1] if len(args) > 1 else kwargs["inputs"]
    _check_seeds(outputs, args[2] if len(args) > 2 else kwargs.get("grad_outputs"))
    results = func(*args, **kwargs)
    for source, result in zip(_as_tuple(inputs), _as_tuple(results), strict=False):
        if isinstance(source, Tensor) and isinstance(result, Tensor):
            set_device_of_gradient(mode, result, index_of(source))
    return results


def _check_seeds(outputs: object, seeds: object) -> None:
    pairs = zip(_as_tuple(outputs), _as_tuple(seeds), strict=False)
    for number, (output, seed) in enumerate(pairs):
        are_tensors = isinstance(output, Tensor) and isinstance(seed, Tensor)
        if are_tensors and index_of(output) != index_of(seed):
            raise RuntimeError(messages.text("seed", number, device_of(output), device_of(seed)))


def _as_tuple(values: object) -> tuple:
    return tuple(values) if isinstance(values, list | tuple) else (values,)


def register_hook(mode, func, args, kwargs):
    """`tensor.register_hook(hook)`: passes the hook a gradient on the tensor's device."""
    tensor, hook = args
    device_index = index_of(tensor)

    def hook_on_device(gradient: Tensor) -> Any:
        set_device_of_gradient(mode, gradient, device_index)
        return hook(gradient)

    return func(tensor, hook_on_device)


def get_grad_fn(mode, func, args, kwargs):
    """`tensor.grad_fn`: hooks of the node receive gradients on the tensor's device."""
    node = func(*args)
    device_index = index_of(args[0])
    if node is None or device_index < 0 or _HOOKED in node.metadata:
        return node
    node.metadata[_HOOKED] = device_index

    def set_devices(gradients: Any) -> None:
        for gradient in gradients:
            if isinstance(gradient, Tensor):
                set_device_of_gradient(mode, gradient, device_index)

    node.register_prehook(set_devices)
    node.register_hook(lambda inputs, outputs: set_devices(inputs))
    return node


def wrap_engine(mode, run_engine: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap PyTorch's function that starts the engine, so that the mode is active in hooks."""

    def run(outputs: Any, *args: Any, **kwargs: Any) -> Any:
        thread.backward_depth += 1
        devices = [index_of(x) if isinstance(x, Tensor) else CPU for x in outputs]
        for seed, device_index in zip(args[0], devices, strict=False):
            # The clock's constants were fitted without the operations on these gradients.
            if isinstance(seed, Tensor) and device_index != CPU and mode.machine.clock is None:
                set_device_of_gradient(mode, seed, device_index)
        refuses = max(devices, default=CPU) != CPU and torch.are_deterministic_algorithms_enabled()
        active = nullcontext() if mode in _get_current_function_mode_stack() else mode
        try:
            with cuda_only_errors.Refusals() if refuses else nullcontext(), active:
                return run_engine(outputs, *args, **kwargs)
        finally:
            thread.backward_depth -= 1

    return run


def wrap_saved_tensor_hooks(mode, initialize: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `saved_tensors_hooks.__init__` to set the device of tensors before the pack hook."""

    def __init__(hooks: Any, pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]):
        def pack(tensor: Tensor) -> Any:
            if thread.running >= 0:
                set_devices(tensor, thread.running, mode.memories)
            if mode in _get_current_function_mode_stack():
                return pack_hook(tensor)
            with mode:
                return pack_hook(tensor)

        mode.uses_hooks = True
        initialize(hooks, pack, unpack_hook)

    return __init__


def wrap_apply(mode, apply: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `Function.apply` to store the devices of its outputs, for the backward pass."""

    # The class attribute itself is needed: some versions of PyTorch implement `apply` in C.
    method = getattr_static(torch.autograd.Function, "apply")

    def apply_and_remember(cls: type, *args: Any, **kwargs: Any) -> Any:
        results = method.__get__(None, cls)(*args, **kwargs)
        outputs = _as_tuple(results)
        if thread.running >= 0:
            # An operator may keep an output for its backward pass that its caller does not return.
            set_devices(outputs, thread.running, mode.memories, guess=thread.backward_depth > 0)
        for output in outputs:
            if isinstance(output, Tensor) and isinstance(output.grad_fn, BackwardCFunction):
                output.grad_fn.device_indices = [
                    index_of(x) if isinstance(x, Tensor) else CPU for x in outputs
                ]
                break
        return results

    return classmethod(apply_and_remember)


def wrap_backward(mode, apply: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a custom function's `backward` to set each gradient's device to its output's."""

    def apply_with_devices(node: Any, *gradients: Any) -> Any:
        for gradient, device_index in zip(
            gradients, getattr(node, "device_indices", ()), strict=False
        ):
            if isinstance(gradient, Tensor):
                set_device_of_gradient(mode, gradient, device_index)
        return apply(node, *gradients)

    return apply_with_devices


def wrap_hook_setup(mode, begin: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the methods that set up a module's backward hooks to store its tensors' device."""

    def begin_and_remember(hooks: Any, values: Any) -> Any:
        device_indices = [
            index_of(value) for value in _as_tuple(values) if isinstance(value, Tensor)
        ]
        hooks.device_index = max(device_indices, default=CPU)
        return begin(hooks, values)

    return begin_and_remember


def wrap_hook_arguments(mode, pack: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method that passes gradients to a module's backward hooks to set their device."""

    def pack_with_devices(hooks: Any, indices: Any, values: Any, size: int) -> Any:
        for value in values:
            if isinstance(value, Tensor) and thread.backward_depth:
                set_device_of_gradient(mode, value, getattr(hooks, "device_index", CPU))
        return pack(hooks, indices, values, size)

    return pack_with_devices
