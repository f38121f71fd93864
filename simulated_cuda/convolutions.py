"""Device and dtype checks of convolutions. The error depends on the kernel that CUDA selects."""

from typing import Any

import torch

from . import messages, settings
from .device_checks import Argument, check_each
from .device_tags import CPU, index_of, type_of

_CPU_CONVOLUTIONS = settings.table("functions")["cpu_convolutions"]


def check_convolution(func: Any, args: tuple, kwargs: dict) -> int:
    """Perform the device check of the kernel that PyTorch selects (native/Convolution.cpp)."""
    (signal, weight, bias), transposed, groups = args[:3], args[6], args[8]
    arguments = [Argument("self", signal), Argument("weight", weight)]
    arguments += [] if bias is None else [Argument("bias", bias)]
    if index_of(signal) == CPU:
        backend = torch._C._select_conv_backend(*args[:9]).name
        if backend in _CPU_CONVOLUTIONS:
            return check_each(func, arguments, _CPU_CONVOLUTIONS[backend])
        if backend == "Slow3d":
            raise NotImplementedError(messages.no_kernel("slow_conv3d_forward"))
        _same_types(arguments, " or input should be a MKLDNN tensor and {} is a dense tensor")
    if _is_depthwise(signal, weight, transposed, groups):
        method = "__conv_depthwise2d" if signal.dim() < 5 else "_conv_depthwise3d"
        return check_each(func, arguments, method)
    padding, stride = args[7], args[3]
    if transposed and any(pad >= step for pad, step in zip(padding, stride, strict=False)):
        # cuDNN requires an output padding that is smaller than the stride.
        backend = "slow_conv_transpose2d" if signal.dim() == 4 else "_slow_conv_transpose3d"
        return check_each(func, arguments, backend)
    _same_types(arguments, "")
    method = "_cudnn_convolution_transpose" if transposed else "_cudnn_convolution"
    return check_each(func, arguments[:2], method)


def _same_types(arguments: list[Argument], ending: str) -> None:
    """Check that the tensor types, such as `torch.cuda.FloatTensor`, are equal."""
    signal = arguments[0]
    for other in arguments[1:]:
        same_device_type = (other.device_index >= 0) == (signal.device_index >= 0)
        if not same_device_type or other.tensor.dtype != signal.tensor.dtype:
            raise different_types(
                signal.tensor, other.name, other.tensor, ending.format(other.name)
            )


def different_types(
    signal: torch.Tensor, name: str, tensor: torch.Tensor, ending: str = ""
) -> RuntimeError:
    """Return the error for a weight or bias with another tensor type than the input."""
    values = type_of(signal), name, type_of(tensor), ending
    return RuntimeError(messages.text("input_type", *values))


# Dtypes that cuDNN supports, but not in convolutions (pytorch issue 152992).
_KNOWN_TO_CUDNN = (torch.uint8, torch.int8, torch.int32)


def refuse_integers(signal: torch.Tensor, weight: torch.Tensor, *options: Any) -> None:
    """Raise CUDA's error if the arguments of a convolution are integers."""
    transposed, groups = options[4], options[6]
    dtype = signal.dtype
    if dtype not in messages.INTEGERS or weight.dtype != dtype or not signal.numel():
        return
    name = messages.INTEGERS[dtype]
    cudnn = torch.backends.cudnn
    if _is_depthwise(signal, weight, transposed, groups):
        kernel = "conv_depthwise2d_forward_cuda" if signal.dim() < 5 else "conv_depthwise3d"
    elif cudnn.enabled and dtype in _KNOWN_TO_CUDNN:
        search = "FIND" if cudnn.benchmark else "GET"
        raise RuntimeError(f"{search} was unable to find an engine to execute this computation")
    elif cudnn.enabled:
        raise RuntimeError(f"getCudnnDataTypeFromScalarType() not supported for {name}")
    else:
        kernel = "slow_conv2d_cuda"
    raise NotImplementedError(f"\"{kernel}\" not implemented for '{name}'")


def _is_depthwise(
    signal: torch.Tensor, weight: torch.Tensor, transposed: bool, groups: int
) -> bool:
    one_per_group = 1 < groups == signal.shape[1] and weight.shape[0] % groups == 0
    return one_per_group and not transposed and signal.dim() <= 5
