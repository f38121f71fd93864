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
from .device_tags import device_at, device_of, functions_named, index_of, storage_of
from .messages import text

Tensor, _Parameter = torch.Tensor, torch.nn.Parameter
# PyTorch's C functions, which are faster than its Python wrappers for them.
_is_any_mode_active = torch._C._is_torch_function_mode_enabled
_pop_mode = torch._C._pop_torch_function_stack
_push_mode = torch._C._push_on_torch_function_stack
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
            (*_DEVICE_INDEPENDENT, *functions_named(_NAMES["handled"]), torch._C._set_grad_enabled),
            lambda mode, func, args, kwargs: func(*args, **kwargs),
        ),
    }


# What does not depend on the device and is not a tensor. Handling it first saves time.
_NAMES = settings.table("functions")["device_independent"]
_DEVICE_INDEPENDENT = [
    *(getattr(Tensor, name) for name in _NAMES["methods"]),
    *(getattr(Tensor, name).__get__ for name in _NAMES["attributes"]),
]


class _Attribute(property):
    """An attribute of tensors that is read without PyTorch's call of the mode, which is slow.

    `torch.Tensor.shape.__get__` is still PyTorch's own: subclasses and other modes compare it.
    """

    def __init__(self, original: Any, read: Callable[[Tensor], Any], write: Any = None) -> None:
        super().__init__(read, write or original.__set__, original.__delete__)
        self.__get__, self.__set__ = original.__get__, original.__set__


def call_directly(mode, original: Callable[..., Any], run: Callable[..., Any]):
    """Wrap a function of PyTorch to call `run` where PyTorch would call the mode, which is slow.

    Where `run` returns NotImplemented or another mode comes first, `original` is called.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            # No mode is active within a function that a mode handles.
            if _is_any_mode_active():
                top = _pop_mode()
                try:
                    if top is mode and (result := run(*args, **kwargs)) is not NotImplemented:
                        return result
                finally:
                    _push_mode(top)
            return original(*args, **kwargs)
        except Exception as error:
            error.__traceback__ = tracebacks.without_simulator(error.__traceback__)
            raise

    return functools.wraps(original)(call)


def _skip_mode(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method or getter of tensors to run without the simulator's mode."""

    def read(tensor: Tensor) -> Any:
        kind = type(tensor)
        # Nearly always, the only mode is the simulator's, or PyTorch's for a default device.
        if (kind is Tensor or kind is _Parameter) and _count_modes() == 1:
            try:
                _skip_modes(True)
                return original(tensor)
            except BaseException:  # perhaps from a signal's handler, between the two calls
                _skip_modes(False)
                raise
        return original(tensor)

    return functools.wraps(original)(read)


def fast_attributes(mode) -> dict[str, Any]:
    """Return faster replacements for attributes and methods of `torch.Tensor`, by name."""
    get_device, get_cuda, get_cpu, get_grad = (
        getattr(Tensor, name).__get__ for name in ("device", "is_cuda", "is_cpu", "grad")
    )
    set_grad = Tensor.grad.__set__

    def device(tensor: Tensor) -> torch.device:
        device_index = index_of(tensor)
        return device_at(device_index) if device_index >= 0 else get_device(tensor)

    def device_without_mode(tensor: Tensor) -> torch.device:
        kind = type(tensor)
        is_plain = kind is Tensor or kind is _Parameter
        if is_plain and _count_modes() == 1 and _is_any_mode_active():
            try:
                _skip_modes(True)
                if (memory := storage_of(tensor).device_tag.memory) is not None:
                    return memory.device
            except (NotImplementedError, RuntimeError):
                pass
            except BaseException:
                _skip_modes(False)
                raise
        return read_device(tensor)

    reads = {} if _skip_modes is None else {f: _skip_mode(f) for f in _DEVICE_INDEPENDENT}
    reads |= {
        get_device: call_directly(mode, get_device, device),
        get_cuda: call_directly(mode, get_cuda, lambda x: index_of(x) >= 0 or get_cuda(x)),
        get_cpu: call_directly(mode, get_cpu, lambda x: index_of(x) < 0 and get_cpu(x)),
        get_grad: call_directly(mode, get_grad, functools.partial(gradients.get_gradient, mode)),
    }
    if _skip_modes:
        read_device, reads[get_device] = reads[get_device], device_without_mode
    return {
        get.__self__.__name__ if get.__name__ == "__get__" else get.__name__:
            _Attribute(get.__self__, read) if get.__name__ == "__get__" else read
        for get, read in reads.items()
    } | {"grad": _Attribute(Tensor.grad, reads[get_grad], call_directly(
        mode, set_grad, lambda x, grad: set_grad(x, grad) if grad is None else NotImplemented
    ))}  # fmt: skip


def without_mode(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function without tensors: the simulator's mode need not see it."""

    def call(*args: Any) -> Any:
        with torch._C.DisableTorchFunction() if _count_modes() == 1 else nullcontext():
            return function(*args)

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
