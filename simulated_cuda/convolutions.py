"""The device check of convolutions: which error CUDA raises depends on the kernel it selects."""

from __future__ import annotations

from typing import Any

import torch

from . import messages
from .arguments import Argument, check_each
from .machine import Machine
from .places import CPU, index_of

# The method of each CPU kernel, keyed by PyTorch's name for the convolution backend.
_CPU_CONVOLUTIONS = {
    "Slow2d": "__slow_conv2d_forward",
    "SlowDilated2d": "_slow_conv_dilated2d",
    "SlowDilated3d": "_slow_conv_dilated3d",
    "SlowTranspose2d": "slow_conv_transpose2d",
    "SlowTranspose3d": "_slow_conv_transpose3d",
}


def check_convolution(machine: Machine, func: Any, args: tuple, kwargs: dict) -> int:
    """Check the devices as the selected kernel does (native/Convolution.cpp)."""
    (signal, weight, bias), transposed, groups = args[:3], args[6], args[8]
    arguments = [
        Argument(name, tensor, index_of(tensor), False)
        for name, tensor in (("self", signal), ("weight", weight), ("bias", bias))
        if tensor is not None
    ]
    here = arguments[0].where
    if here == CPU:
        kind = torch._C._select_conv_backend(*args[:9]).name
        if kind in _CPU_CONVOLUTIONS:
            return check_each(machine, func, arguments, _CPU_CONVOLUTIONS[kind])
        if kind == "Slow3d":
            raise NotImplementedError(messages.no_kernel("slow_conv3d_forward"))
        _same_types(arguments, " or input should be a MKLDNN tensor and {} is a dense tensor")
    depthwise = not transposed and 1 < groups == signal.shape[1]
    if depthwise and weight.shape[0] % groups == 0 and signal.dim() <= 5:
        method = "__conv_depthwise2d" if signal.dim() < 5 else "_conv_depthwise3d"
        return check_each(machine, func, arguments, method)
    padding, stride = args[7], args[3]
    if transposed and any(more >= step for more, step in zip(padding, stride, strict=False)):
        # cuDNN does not support output padding of a whole stride.
        kind = "slow_conv_transpose2d" if signal.dim() == 4 else "_slow_conv_transpose3d"
        return check_each(machine, func, arguments, kind)
    _same_types(arguments, "")
    method = "_cudnn_convolution_transpose" if transposed else "_cudnn_convolution"
    return check_each(machine, func, arguments[:2], method)


def _same_types(arguments: list[Argument], ending: str) -> int:
    """Check that the tensor types, such as `torch.cuda.FloatTensor`, are equal."""
    signal = arguments[0]
    name = messages.tensor_type(signal.tensor, signal.where)
    for argument in arguments[1:]:
        kind = messages.tensor_type(argument.tensor, argument.where)
        if kind != name:
            raise RuntimeError(
                f"Input type ({name}) and {argument.name} type ({kind}) should be the same"
                + ending.format(argument.name)
            )
    return signal.where


RULES = dict.fromkeys(
    ("convolution", "convolution_overrideable", "_convolution", "mkldnn_convolution"),
    check_convolution,
)
