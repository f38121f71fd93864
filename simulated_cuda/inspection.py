"""Handlers for inspecting tensors: their device, their printed form, and their export.

Other libraries read a tensor through a DLPack capsule. That of a GPU tensor is refused, because
it would have the CPU as its device, so that a missing `.cpu()` would not raise an error.
"""

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch

from . import gradients, settings, tracebacks
from .device_tags import PLAIN, device_at, device_of, functions_named, index_of, storage_of
from .messages import text

Tensor, _Parameter = torch.Tensor, torch.nn.Parameter
_get_gradient, _put_gradient = Tensor.grad.__get__, Tensor.grad.__set__
_is_any_mode_active = torch._C._is_torch_function_mode_enabled
_count_modes = torch._C._len_torch_function_stack
# After it, PyTorch's next check for modes and subclasses finds none. New in torch 2.14.
_skip_modes = getattr(torch._C, "_set_skip_next_torch_function", None)
_DLPACK_CUDA = 2  # DLPack's number for this type of device


def handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return the handlers for functions that report a tensor's device, print or export it."""
    return {
        Tensor.device.__get__: _unless_on_gpu(device_at),
        Tensor.is_cuda.__get__: _unless_on_gpu(lambda device_index: True),
        Tensor.is_cpu.__get__: _unless_on_gpu(lambda device_index: False),
        Tensor.get_device: get_device,
        torch.get_device: get_device,
        Tensor.__repr__: repr_,
        Tensor.__format__: format_,
        Tensor.numpy: numpy,
        Tensor.__array__: _refused_on_gpu(_refuse_numpy),
        Tensor.__cuda_array_interface__.__get__: cuda_array_interface,
        Tensor.__dlpack__: _refused_on_gpu(_refuse_dlpack),
        Tensor.__dlpack_device__: _unless_on_gpu(lambda device_index: (_DLPACK_CUDA, device_index)),
        Tensor.share_memory_: lambda mode, func, args, kwargs: (
            args[0] if index_of(args[0]) >= 0 else func(*args)
        ),
        Tensor.is_shared: _unless_on_gpu(lambda device_index: True),
        **dict.fromkeys(
            (
                *(getattr(Tensor, name).__get__ for name in _NAMES["attributes"]),
                *functions_named(_NAMES["methods"] + _NAMES["handled"]),
                torch._C._set_grad_enabled,
            ),
            lambda mode, func, args, kwargs: func(*args, **kwargs),
        ),
    }


# What does not depend on the device and is not a tensor. Handling it first saves time.
_NAMES = settings.table("functions")["device_independent"]


class _Attribute(property):
    """An attribute of tensors that is read without PyTorch's call of the mode, which is slow.

    `torch.Tensor.shape.__get__` is still PyTorch's own: subclasses and other modes compare it.
    """

    def __init__(self, original: Any, read: Callable[[Tensor], Any], write: Any = None) -> None:
        super().__init__(read, write or original.__set__, original.__delete__)
        self.__get__, self.__set__ = original.__get__, original.__set__


def fast_attributes(mode) -> dict[str, Any]:
    """Return faster replacements for attributes and methods of `torch.Tensor`, by name."""
    if _skip_modes is None:
        return {}
    reads = {name: _skip_mode(getattr(Tensor, name).__get__) for name in _NAMES["attributes"]}
    reads |= {name: _read_device(name) for name in ("device", "is_cuda", "is_cpu")}
    return {
        **{name: _skip_mode(getattr(Tensor, name)) for name in _NAMES["methods"]},
        **{name: _Attribute(getattr(Tensor, name), read) for name, read in reads.items()},
        "grad": _Attribute(Tensor.grad, _read_gradient(mode), _set_gradient),
    }


# In these functions, the only mode is nearly always the simulator's, or PyTorch's for a default
# device. They may be interrupted by a signal's handler between two calls.
def _skip_mode(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method or getter of tensors to run without the simulator's mode."""

    def read(tensor: Tensor) -> Any:
        kind = type(tensor)
        if (kind is Tensor or kind is _Parameter) and _count_modes() == 1:
            try:
                _skip_modes(True)
                return original(tensor)
            except BaseException:
                _skip_modes(False)
                raise
        return original(tensor)

    return functools.wraps(original)(read)


def _read_device(name: str) -> Callable[[Tensor], Any]:
    """Return a faster function that reads an attribute that depends only on the device."""
    original = getattr(Tensor, name).__get__

    def read(tensor: Tensor) -> Any:
        kind = type(tensor)
        if (kind is Tensor or kind is _Parameter) and _count_modes() == 1 and _is_any_mode_active():
            try:
                _skip_modes(True)
                memory = storage_of(tensor).device_tag.memory
                if memory is not None:
                    return memory.attributes[name]
                _skip_modes(True)
                return original(tensor)
            except BaseException as error:
                _skip_modes(False)
                if not isinstance(error, NotImplementedError):  # as a sparse tensor raises
                    raise
        return original(tensor)

    return functools.wraps(original)(read)


def _read_gradient(mode) -> Callable[[Tensor], Tensor | None]:
    """Return a faster function that reads `grad`."""

    def read(tensor: Tensor) -> Tensor | None:
        if type(tensor) in PLAIN and _count_modes() == 1:
            try:
                _skip_modes(True)
                gradient = _get_gradient(tensor)
                if gradient is None:
                    return None
                _skip_modes(True)
                index = storage_of(tensor).device_tag.index
                _skip_modes(True)
                storage = storage_of(gradient)
                if index < 0 or storage.device_tag.index != index:
                    gradients.set_device_of_storage(mode, storage, index)
                return gradient
            except BaseException as error:
                _skip_modes(False)
                if not isinstance(error, NotImplementedError):
                    error.__traceback__ = tracebacks.without_simulator(error.__traceback__)
                    raise
        return _get_gradient(tensor)

    return read


def _set_gradient(tensor: Tensor, gradient: Tensor | None) -> None:
    """Set `grad`, faster if it is set to None."""
    try:
        if gradient is None and type(tensor) in PLAIN and _count_modes() == 1:
            _skip_modes(True)
        _put_gradient(tensor, gradient)
    except BaseException as error:
        _skip_modes(False)
        error.__traceback__ = tracebacks.without_simulator(error.__traceback__)
        raise


def without_mode(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function without tensors: the simulator's mode need not see it."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            with torch._C.DisableTorchFunction() if _count_modes() == 1 else nullcontext():
                return function(*args, **kwargs)
        except Exception as error:
            error.__traceback__ = tracebacks.without_simulator(error.__traceback__)
            raise

    return functools.wraps(function)(call)


def _unless_on_gpu(value: Callable[[int], Any]) -> Callable[..., Any]:
    """Return a handler that returns a value of the device index for a tensor on a GPU."""

    def handle(mode, func, args, kwargs):
        device_index = index_of(args[0])
        return value(device_index) if device_index >= 0 else func(*args, **kwargs)

    return handle


def _refused_on_gpu(refuse: Callable[[Tensor], None]) -> Callable[..., Any]:
    """Return a handler that first calls `refuse`, which raises an error for a tensor on a GPU."""

    def handle(mode, func, args, kwargs):
        refuse(args[0])
        return func(*args, **kwargs)

    return handle


def get_device(mode, func, args, kwargs):
    """`Tensor.get_device()`: the index of the GPU, or -1 for the CPU."""
    tensor = args[0] if args else kwargs["input"]
    device_index = index_of(tensor)
    return device_index if device_index >= 0 else func(tensor)


def repr_(mode, func, args, kwargs):
    """`repr(tensor)`, with the mode active so that the text includes the device."""
    with mode:
        return torch._tensor_str._str(args[0], **kwargs)


def format_(mode, func, args, kwargs):
    """`f"{tensor}"` and `f"{tensor:.3f}"`."""
    tensor, spec = args
    if tensor.dim() == 0 and type(tensor) is Tensor:
        return format(tensor.item(), spec)
    with mode:
        return object.__format__(tensor, spec)


def _refuse_numpy(tensor: Tensor) -> None:
    if index_of(tensor) >= 0:
        raise TypeError(text("numpy", device_of(tensor)))


def numpy(mode, func, args, kwargs):
    """`Tensor.numpy(force=False)`: returns a copy if `force` is set."""
    if not kwargs.get("force", False):
        _refuse_numpy(args[0])
        return func(*args, **kwargs)
    result = func(*args, **kwargs)
    return result.copy() if index_of(args[0]) >= 0 else result


def cuda_array_interface(mode, func, args, kwargs):
    """`Tensor.__cuda_array_interface__`: an AttributeError, so that `hasattr` returns False."""
    if index_of(args[0]) >= 0:
        raise AttributeError(text("array_interface", device_of(args[0])))
    return func(*args, **kwargs)


def wrap_export(export: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function that creates a capsule, such as `torch.utils.dlpack.to_dlpack`."""

    def to_dlpack(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
        _refuse_dlpack(tensor)
        return export(tensor, *args, **kwargs)

    return to_dlpack


def wrap_import(load: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `torch.from_dlpack` to share GPU tensors without a capsule."""

    def from_dlpack(ext_tensor: Any, **kwargs: Any) -> Tensor:
        if not isinstance(ext_tensor, Tensor) or index_of(ext_tensor) < 0:
            return load(ext_tensor, **kwargs)
        device = kwargs.get("device") or ext_tensor.device
        return ext_tensor.detach().to(device, copy=bool(kwargs.get("copy")))

    return from_dlpack


def _refuse_dlpack(tensor: Tensor) -> None:
    if index_of(tensor) >= 0:
        raise BufferError(text("dlpack", device_of(tensor)))
