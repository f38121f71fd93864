"""Handlers for inspecting tensors: their device, their printed form, and their export.

Other libraries read a tensor through a DLPack capsule. That of a GPU tensor is refused, because
it would have the CPU as its device, so that a missing `.cpu()` would not raise an error.
"""

import functools
from collections.abc import Callable
from typing import Any

import torch

from .device_tags import device_at, device_of, index_of
from .messages import text

Tensor = torch.Tensor
# PyTorch's C functions, which are faster than its Python wrappers for them.
is_any_mode_active = torch._C._is_torch_function_mode_enabled
pop_mode = torch._C._pop_torch_function_stack
push_mode = torch._C._push_on_torch_function_stack
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
            _DEVICE_INDEPENDENT, lambda mode, func, args, kwargs: func(*args, **kwargs)
        ),
    }


# What does not depend on the device and is not a tensor. Handling it first saves time.
_METHODS = (Tensor.dim, Tensor.is_complex, Tensor.is_floating_point, Tensor.numel)
_DEVICE_INDEPENDENT = (
    Tensor.dtype.__get__, Tensor.is_leaf.__get__, Tensor.is_sparse.__get__, Tensor.layout.__get__,
    Tensor.ndim.__get__, Tensor.requires_grad.__get__, Tensor.shape.__get__, *_METHODS,
    torch.is_complex, torch.is_floating_point, Tensor.size, Tensor.untyped_storage,
)  # fmt: skip


class _Attribute(property):
    """An attribute of tensors that is read without PyTorch's call of the mode, which is slow.

    `torch.Tensor.shape.__get__` is still PyTorch's own: subclasses and other modes compare it.
    """

    def __init__(self, original: Any, read: Callable[[Tensor], Any]) -> None:
        super().__init__(read, original.__set__, original.__delete__)
        self.__get__, self.__set__ = original.__get__, original.__set__


def fast_attributes(mode) -> dict[str, Any]:
    """Return faster replacements for attributes and methods of `torch.Tensor`, by name."""

    def fast(original: Callable[..., Any], run: Callable[..., Any]) -> Callable[..., Any]:
        def call(tensor: Tensor) -> Any:
            # PyTorch calls other modes, and none within a function that a mode handles.
            if is_any_mode_active():
                top = pop_mode()
                try:
                    if top is mode:
                        return run(tensor)
                finally:
                    push_mode(top)
            return original(tensor)

        return functools.wraps(original)(call)

    get_device, get_cuda, get_cpu = (
        getattr(Tensor, name).__get__ for name in ("device", "is_cuda", "is_cpu")
    )
    get_grad = Tensor.grad.__get__

    def device(tensor: Tensor) -> torch.device:
        if (device_index := index_of(tensor)) >= 0:
            return device_at(device_index)
        return get_device(tensor)

    handle = mode.handlers[get_grad]
    runs = {
        get_device: device,
        get_cuda: lambda tensor: index_of(tensor) >= 0 or get_cuda(tensor),
        get_cpu: lambda tensor: index_of(tensor) < 0 and get_cpu(tensor),
        get_grad: lambda tensor: handle(mode, get_grad, (tensor,), {}),
    }
    attributes = {
        get.__self__.__name__: _Attribute(get.__self__, fast(get, runs.get(get, get)))
        for get in (*_DEVICE_INDEPENDENT, *runs) if get.__name__ == "__get__"
    }  # fmt: skip
    methods = {method.__name__: fast(method, method) for method in _METHODS}
    return attributes | methods


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
