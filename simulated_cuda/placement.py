"""Handlers that create tensors on a device or move them to one, if its memory is sufficient."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _device as default_device

from . import generators
from .device_tags import CPU, device_of, index_of, set_devices, storage_of, tag_of, type_of
from .memory import DeviceTag

Tensor = torch.Tensor
# Functions that share memory with their input if possible. On a GPU, the result must be a copy.
_MEMORY_SHARING = {torch.as_tensor, torch.asarray}
# For these, device memory is checked after the call: their data is already in CPU memory, or their
# meta kernels import PyTorch's compiler, which takes seconds.
_CHECKED_AFTER = {
    torch.tensor, *_MEMORY_SHARING, torch.nested.nested_tensor, torch.arange, torch.range,
    torch.linspace, torch.logspace,
}  # fmt: skip


# PyTorch accepts these types where it expects a dtype.
_DTYPES = {
    bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128,
}  # fmt: skip


def _bytes_of(tensor: Tensor, dtype: torch.dtype | type | None = None) -> int:
    """Return the size of a tensor's elements in bytes, after conversion to `dtype` if given."""
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.numel() * (_DTYPES.get(dtype, dtype) or tensor.dtype).itemsize


def _mark_as_pinned(tensor: Tensor) -> Tensor:
    """Mark the memory of a CPU tensor as pinned, and return the tensor."""
    storage_of(tensor).device_tag = tag = DeviceTag(CPU)
    tag.pinned = True
    return tensor


def handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return the handlers for functions that create tensors or move them."""
    return {
        **dict.fromkeys(default_device._device_constructors(), make),
        Tensor.to: to,
        Tensor.cuda: cuda,
        Tensor.cpu: cpu,
        Tensor.type: type_,
        Tensor.type_as: lambda mode, func, args, kwargs: to(mode, Tensor.to, args, kwargs),
        Tensor.pin_memory: pin_memory,
        Tensor.is_pinned: lambda mode, func, args, kwargs: tag_of(args[0]).pinned,
        # Accepts any two devices; the destination stays on its device.
        Tensor.copy_: lambda mode, func, args, kwargs: func(*args, **kwargs),
    }


def make(mode, func, args, kwargs):
    """Run a function with a `device` argument: a factory, `zeros_like`, `Tensor.new_zeros`, ..."""
    kwargs = dict(kwargs)
    requested = kwargs.get("device")
    source = args[0] if args and isinstance(args[0], Tensor) else None
    if requested is not None:
        device_index = mode.machine.resolve(requested)
    elif source is not None:
        device_index = index_of(source)
    else:
        default = default_device.CURRENT_DEVICE
        takes_default = default is not None and func in default_device._device_constructors()
        device_index = mode.machine.resolve(default) if takes_default else CPU
    if device_index is None:
        # Another device type, such as meta, or an invalid argument: PyTorch handles both.
        return func(*args, **kwargs)
    if func in _MEMORY_SHARING and source is not None and index_of(source) != device_index:
        source = copy_to_device(mode, source, device_index)
        args = (source, *args[1:])
    pinned = kwargs.pop("pin_memory", False)
    generator = kwargs.get("generator")
    if generator is not None:
        check_generator(generator, device_index)
    kwargs["device"] = "cpu"
    if device_index >= 0 and func not in _CHECKED_AFTER and not _is_small(args, kwargs):
        _check_memory(mode, func, args, kwargs, device_index)
    if device_index >= 0 and generator is None and func in generators.FACTORIES:
        with generators.use_default_generator(mode.machine, device_index):
            result = func(*args, **kwargs)
    else:
        try:
            result = func(*args, **kwargs)
        except RuntimeError as error:
            if device_index >= 0:
                mode.memories[device_index].explain_failed_allocation(error)
            raise
    if device_index == CPU:
        return _mark_as_pinned(result) if pinned else result
    if func in _MEMORY_SHARING and result is not source:
        result = result.clone()
    set_devices(result, device_index, mode.memories)
    return result


def copy_to_device(mode, tensor: Tensor, device_index: int, dtype: torch.dtype | None = None):
    """Return a differentiable copy of `tensor` on the device with this index, as `.to` does."""
    if device_index >= 0:
        mode.memories[device_index].check(_bytes_of(tensor, dtype))
    result = tensor.to(dtype or tensor.dtype, copy=True)
    if device_index >= 0:
        set_devices(result, device_index, mode.memories)
    return result


def check_generator(generator: torch.Generator, device_index: int) -> None:
    """Raise RuntimeError for a generator of another device type, as random operations do."""
    of_gpu = generator.device.type == "cuda"
    if of_gpu != (device_index >= 0):
        expected, found = ("cuda", "cpu") if device_index >= 0 else ("cpu", "cuda")
        raise RuntimeError(f"Expected a '{expected}' device type for generator but found '{found}'")


def _is_small(args: tuple, kwargs: dict) -> bool:
    """Return whether the arguments are integers and shapes for at most a million elements."""
    values = (*args, *(kwargs.get(name, ()) for name in ("size", "end", "steps")))
    lists = (value if isinstance(value, list | tuple) else (value,) for value in values)
    sizes = [size for sizes in lists for size in sizes]
    are_integers = all(type(size) is int for size in sizes)
    return are_integers and math.prod(abs(size) + 1 for size in sizes) <= 1_000_000


def _check_memory(mode, func, args, kwargs, device_index: int) -> None:
    """Raise `torch.OutOfMemoryError` before the CPU allocates a tensor that does not fit."""
    if "generator" in kwargs or "out" in kwargs:
        return
    try:
        shape = func(*args, **{**kwargs, "device": "meta"})
        if not (isinstance(shape, Tensor) and shape.layout == torch.strided):
            return
        nbytes = shape.untyped_storage().nbytes()
    except (ArithmeticError, RuntimeError, TypeError, ValueError, NotImplementedError):
        # An invalid argument, which the real call will report, or a function without a meta kernel.
        return
    mode.memories[device_index].check(nbytes)


def to(mode, func, args, kwargs):
    """`Tensor.to` with a device, a dtype, both, or another tensor, and all keyword arguments."""
    tensor, rest = args[0], list(args[1:])
    options = dict(kwargs)
    device, dtype = options.pop("device", None), options.pop("dtype", None)
    other = options.pop("other", None)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    elif rest and isinstance(_DTYPES.get(rest[0], rest[0]), torch.dtype):
        dtype = rest.pop(0)
    elif rest:
        device = rest.pop(0)
        if rest and not isinstance(rest[0], bool):
            dtype = rest.pop(0)
    if other is not None:
        dtype = other.dtype
        device = device_of(other) if other.device.type == "cpu" else other.device
    # The remaining positional arguments are the flags non_blocking and copy, in this order.
    copy = options.get("copy", rest[1] if len(rest) > 1 else False)
    device_index = mode.machine.resolve(device)
    if (device_index is None and device is not None) or tensor.device.type != "cpu":
        return _to_device_not_simulated(func, tensor, device, dtype, options)
    source = index_of(tensor)
    target = source if device_index is None else device_index
    if target >= 0 and target != source:
        mode.memories[target].check(_bytes_of(tensor, dtype))
    result = tensor.to(
        dtype or tensor.dtype, copy=copy or target != source,
        memory_format=options.get("memory_format") or torch.preserve_format,
    )  # fmt: skip
    if result is not tensor and target >= 0:
        set_devices(result, target, mode.memories)
    return result


def _to_device_not_simulated(func, tensor, device, dtype, options):
    """Move a tensor to or from a device that is not simulated, such as meta."""
    if isinstance(device, torch.device | str) and str(device).startswith("cuda"):
        device = "cpu"
    arguments = {"device": device, "dtype": dtype}
    return func(tensor, **{k: v for k, v in arguments.items() if v is not None}, **options)


def wrap_parse_to(mode, parse: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the parser of the arguments of `Module.to`, one of which may be an example tensor."""

    def parse_to(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], int) and not isinstance(args[0], bool):
            args = (torch.device("cuda", args[0]), *args[1:])
        # The parser calls the mode, which would replace the argument `device`.
        with torch._C.DisableTorchFunction():
            device, *rest = parse(*args, **kwargs)
        for value in (*args, *kwargs.values()):
            if isinstance(value, Tensor) and index_of(value) >= 0:
                device = device_of(value)
        return device, *rest

    return parse_to


def cuda(mode, func, args, kwargs):
    """`Tensor.cuda(device=None, non_blocking=False)`."""
    tensor = args[0]
    device = args[1] if len(args) > 1 else kwargs.get("device")
    device_index = mode.machine.current if device is None else mode.machine.resolve(device)
    if device_index is None or device_index == CPU:
        raise RuntimeError("Invalid device, must be cuda device")
    mode.machine.touch()
    if index_of(tensor) == device_index:
        return tensor
    return copy_to_device(mode, tensor, device_index)


def cpu(mode, func, args, kwargs):
    """`Tensor.cpu()`: returns the tensor itself if it is on the CPU."""
    tensor = args[0]
    if index_of(tensor) == CPU:
        return func(*args, **kwargs)
    return copy_to_device(mode, tensor, CPU)


def type_(mode, func, args, kwargs):
    """`Tensor.type()`, which returns a name that includes the device, and `Tensor.type(dtype)`."""
    tensor = args[0]
    target = args[1] if len(args) > 1 else kwargs.get("dtype")
    source = index_of(tensor)
    if target is None:
        return type_of(tensor)
    device_index = source
    if (isinstance(target, str) and "." in target) or isinstance(target, type):
        name = target if isinstance(target, str) else f"{target.__module__}.{target.__qualname__}"
        on_gpu = name.startswith("torch.cuda.")
        device_index = (source if source >= 0 else mode.machine.current) if on_gpu else CPU
        target = getattr(torch, name.rpartition(".")[2]).dtype
    elif not isinstance(target, torch.dtype):
        target = getattr(target, "dtype", target)
    if device_index != source:
        return copy_to_device(mode, tensor, device_index, target)
    result = func(tensor, target)
    if result is not tensor and source >= 0:
        set_devices(result, source, mode.memories)
    return result


def pin_memory(mode, func, args, kwargs):
    """`Tensor.pin_memory()`: returns a copy marked as pinned; only CPU tensors can be pinned."""
    tensor = args[0]
    if index_of(tensor) >= 0:
        raise RuntimeError(f"cannot pin '{type_of(tensor)}' only dense CPU tensors can be pinned")
    return tensor if tag_of(tensor).pinned else _mark_as_pinned(tensor.clone())
