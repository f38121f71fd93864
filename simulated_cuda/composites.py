"""Device checks that PyTorch's public functions perform before any primitive operation runs.

Each check takes the simulated machine and the function's arguments, and raises CUDA's error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import _VF

from .arguments import check_same_device_as_first
from .machine import Machine
from .places import CPU, index_of
from .special_rules import check_attention_mask

Tensor = torch.Tensor
Check = Callable[..., None]


def _device_of(machine: Machine, tensor: Tensor) -> torch.device:
    return machine.name(index_of(tensor))


def _take_along_dim(machine, input, indices, *args, **kwargs):
    first, second = _device_of(machine, input), _device_of(machine, indices)
    if first != second:
        raise RuntimeError(
            f"Expected tensor to have {first} Device, but got tensor with {second} Device (while "
            "checking arguments for torch.take_along_dim():)"
        )


def _attention(machine, query, key, value, attn_mask=None, *args, **kwargs):
    devices = [_device_of(machine, tensor) for tensor in (query, key, value)]
    if len(set(devices)) > 1:
        raise RuntimeError(
            "Expected query, key, and value to have the same device type, but got query.device: "
            f"{devices[0]} key.device: {devices[1]} and value.device: {devices[2]} instead."
        )
    if isinstance(attn_mask, Tensor):
        check_attention_mask(machine, query, attn_mask)


def _recurrent(machine, input, second, third, *args, **kwargs):
    """`_VF.lstm`, `_VF.gru`, ...: for packed input, batch sizes come before the hidden state."""
    packed = isinstance(second, Tensor) and second.dtype == torch.int64
    hidden, weights = (third, args[0]) if packed else (second, third)
    hiddens = hidden if isinstance(hidden, list | tuple) else (hidden,)
    input_index = index_of(input)
    for name, tensors in (("hidden", hiddens), ("parameter", weights)):
        for tensor in tensors:
            if index_of(tensor) != input_index:
                raise RuntimeError(
                    f"Input and {name} tensors are not at the same device, found input tensor at "
                    f"{machine.name(input_index)} and {name} tensor at "
                    f"{_device_of(machine, tensor)}"
                )


def _recurrent_cell(method: str, state_name: str) -> Check:
    """Return the check of a recurrent cell: on CUDA, two matrix products and a fused kernel."""
    names = ("input_gates", "hidden_gates", state_name, "input_bias", "hidden_bias")

    def check(machine, input, hidden, w_ih, w_hh, b_ih=None, b_hh=None):
        if index_of(input) == CPU:
            return
        hiddens = hidden if isinstance(hidden, list | tuple) else (hidden,)
        check_same_device_as_first(machine, "mm", {"self": input, "mat2": w_ih})
        check_same_device_as_first(machine, "mm", {"self": hiddens[0], "mat2": w_hh})
        tensors = (input, hiddens[0], hiddens[-1], b_ih, b_hh)
        check_same_device_as_first(machine, method, dict(zip(names, tensors, strict=True)))

    return check


def _root_mean_square_norm(machine, input, normalized_shape, weight=None, *args, **kwargs):
    check_same_device_as_first(machine, "__fused_rms_norm", {"input": input, "weight": weight})


def _native_batch_norm(machine, input, weight, bias, running_mean, running_var, *args, **kwargs):
    names = ("input", "weight", "bias", "running_mean", "running_var")
    tensors = (input, weight, bias, running_mean, running_var)
    check_same_device_as_first(
        machine, "_native_batch_norm", dict(zip(names, tensors, strict=True))
    )


def _flat(tensors: Sequence[Any]) -> list[Tensor]:
    """Return the tensors passed as `f(a, b)` or `f([a, b])`."""
    nested = len(tensors) == 1 and isinstance(tensors[0], list | tuple)
    return [tensor for tensor in (tensors[0] if nested else tensors) if isinstance(tensor, Tensor)]


def _meshgrid(machine, *tensors, **kwargs):
    if len({index_of(tensor) for tensor in _flat(tensors)}) > 1:
        raise RuntimeError("meshgrid expects all tensors to have the same device")


def _block_diag(machine, *tensors):
    devices = [_device_of(machine, tensor) for tensor in _flat(tensors)]
    for number, device in enumerate(devices):
        if device != devices[0]:
            raise RuntimeError(
                "torch.block_diag: input tensors must all be on the same device. Input 0 is on "
                f"device {devices[0]} and input {number} is on device {device}"
            )


def _multi_dot(machine, tensors, **kwargs):
    devices = [_device_of(machine, tensor) for tensor in tensors]
    for number, device in enumerate(devices):
        if device != devices[0]:
            raise RuntimeError(
                "multi_dot(): all tensors must be on the same device but tensor 0 is on "
                f"{devices[0]} and tensor {number} on {device}"
            )


def _quantile(machine, input, q, *args, **kwargs):
    if isinstance(q, Tensor) and index_of(q) != index_of(input):
        raise RuntimeError("quantile() q tensor must be on the same device as the input tensor")


def _gradient(machine, input, *args, spacing=None, **kwargs):
    steps = spacing if isinstance(spacing, list | tuple) else (spacing,)
    for step in steps:
        if isinstance(step, Tensor) and index_of(step) != index_of(input):
            raise RuntimeError(
                "torch.gradient expected each tensor to be on the same device, but got devices "
                f"{_device_of(machine, input)} and {_device_of(machine, step)}!"
            )


def _inner(machine, input, other, **kwargs):
    first, second = _device_of(machine, input).type, _device_of(machine, other).type
    if first != second:
        raise RuntimeError(
            f"Expected tensor to have {first} DeviceType, but got tensor with {second} DeviceType "
            "(while checking arguments for inner())"
        )


def _tensor_split(machine, input, sections, *args, **kwargs):
    if isinstance(sections, Tensor) and index_of(sections) != CPU:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on "
            f"{_device_of(machine, sections)}"
        )


def _searchsorted(machine, sorted_sequence, input, *args, sorter=None, **kwargs):
    devices = [_device_of(machine, x) for x in (sorter, input) if isinstance(x, Tensor)]
    if index_of(sorted_sequence) == index_of(input) and len(set(devices)) > 1:
        raise RuntimeError(
            "torch.searchsorted(): sorter and boundary tensors should have same device type, but "
            f"got sorter tensor device type {devices[0]} and input value tensor device type "
            f"{devices[1]}"
        )


def _cholesky_solve(machine, input, input2, *args, **kwargs):
    first, second = _device_of(machine, input), _device_of(machine, input2)
    if first != second:
        raise RuntimeError(
            f"Expected b and A to be on the same device, but found b on {first} and A on {second} "
            "instead."
        )


def _segment_reduce(machine, data, *args, lengths=None, offsets=None, **kwargs):
    for name, tensor in (("lengths", lengths), ("offsets", offsets)):
        if isinstance(tensor, Tensor) and index_of(tensor) != index_of(data):
            raise RuntimeError(
                f"Expected data.get_device() == {name}_value.get_device() to be true, but got "
                "false.  (Could this error message be improved?  If so, please report an "
                "enhancement request to PyTorch.)"
            )


def _as_method(name: str, check: Check) -> dict[Callable[..., Any], Check]:
    """Return the same check for `torch.name` and `Tensor.name`."""
    return {getattr(torch, name): check, getattr(Tensor, name): check}


CHECKS: dict[Callable[..., Any], Check] = {
    F.scaled_dot_product_attention: _attention,
    F.rms_norm: _root_mean_square_norm,
    torch.rms_norm: _root_mean_square_norm,
    _VF.lstm_cell: _recurrent_cell("__thnn_fused_lstm_cell", "cx"),
    _VF.gru_cell: _recurrent_cell("__thnn_fused_gru_cell", "hx"),
    **dict.fromkeys((_VF.lstm, _VF.gru, _VF.rnn_tanh, _VF.rnn_relu), _recurrent),
    **dict.fromkeys((torch.meshgrid, torch.cartesian_prod), _meshgrid),
    torch.block_diag: _block_diag,
    torch.linalg.multi_dot: _multi_dot,
    torch.gradient: _gradient,
    torch.searchsorted: _searchsorted,
    torch.segment_reduce: _segment_reduce,
    torch.native_batch_norm: _native_batch_norm,
    **_as_method("cholesky_solve", _cholesky_solve),
    **_as_method("take_along_dim", _take_along_dim),
    **_as_method("quantile", _quantile),
    **_as_method("nanquantile", _quantile),
    **_as_method("inner", _inner),
    **_as_method("tensor_split", _tensor_split),
}
