"""Operations on tensors from several devices, with the same device checks as on CUDA.

Some public functions check devices before any primitive operation runs: `_CHECKS`. PyTorch then
decomposes the function into primitive operations. A dispatch mode, below autograd, checks each of
them and runs it on the CPU. `rules.py` defines which devices they accept.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import _VF
from torch.utils._pytree import tree_leaves

from . import cuda_only_errors, rules
from .device_checks import check_named
from .device_tags import CPU, DispatchMode, device_of, index_of, move_storage, set_devices, thread
from .messages import text

Tensor = torch.Tensor
Check = Callable[..., None]


def run(mode, func: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """Run an operation on tensors from several devices, or raise CUDA's error."""
    if thread.backward_depth and isinstance(func, torch._ops.OpOverload):
        # A dispatch mode runs a step of the backward pass. Tensors that exist only in autograd,
        # such as a saved mean, have no device yet, so there is nothing to compare.
        tensors = (x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor))
        return mode.run(func, args, kwargs, max(map(index_of, tensors)))
    if func in _CHECKS:
        _CHECKS[func](*args, **kwargs)
    if func in (torch.ctc_loss, F.ctc_loss):
        args, kwargs = _with_lengths_on_host(args, kwargs)
    home = next((index_of(x) for x in tree_leaves(args) if isinstance(x, Tensor)), CPU)
    try:
        with CheckedSteps(mode, home, func is Tensor.__setitem__):
            result = func(*args, **kwargs)
    except (IndexError, RuntimeError) as error:
        cuda_only_errors.explain_failed_index(func, args, error)
        cuda_only_errors.explain_missing_kernel(error)
        raise
    if func is _VF._pad_packed_sequence:
        # PyTorch keeps the lengths on the CPU.
        move_storage(result[1].untyped_storage(), CPU, mode.memories)
    return result


def _with_lengths_on_host(args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return the arguments of `ctc_loss` with its lengths as numbers: PyTorch copies them, too."""
    names = ("log_probs", "targets", "input_lengths", "target_lengths")
    named = {**dict(zip(names, args, strict=False)), **kwargs}
    lengths = {name: named.get(name) for name in names[2:]}
    if not all(isinstance(length, Tensor) for length in lengths.values()):
        return args, kwargs
    named |= {name: length.tolist() for name, length in lengths.items()}
    return (*(named.pop(name) for name in names), *args[len(names) :]), named


class CheckedSteps(DispatchMode):
    """Checks the devices of every primitive operation, runs it, and sets its result's device.

    `home` is the device of the first tensor argument of the whole operation. PyTorch creates
    intermediate tensors with the options of an argument, nearly always on that device.
    """

    def __init__(self, mode, home: int, is_assignment: bool) -> None:
        super().__init__()
        self.memories = mode.memories
        self.home, self.is_assignment = home, is_assignment

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Check and run one primitive operation."""
        kwargs = kwargs or {}
        indices = {index_of(x) for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)}
        if func is torch.ops.aten.index_fill_.int_Scalar and self.is_assignment:
            device_index = index_of(args[0])  # from torch 2.15 on, which moves indices first
        elif len(indices) > 1:
            device_index = rules.check(func, args, kwargs)
        elif indices:
            device_index = indices.pop()
        else:
            # PyTorch passes a device only if it creates a tensor with the options of an argument.
            device_index = self.home if kwargs.get("device") is not None else CPU
        result = func(*args, **kwargs)
        if func._schema.name.startswith(f"aten::{rules.FOREACH}"):
            rules.set_devices_of_lists(result, args, self.memories)
        elif func._schema.name == "aten::_pack_padded_sequence":
            set_devices(result[0], device_index, self.memories)
        elif device_index >= 0:
            set_devices(result, device_index, self.memories, guess=thread.backward_depth > 0)
        return result


def _check_pair(name: str) -> Check:
    """Return the check of a function whose first two tensors must be on the same device."""

    def check(input, other, *args, **kwargs):
        first, second = device_of(input), device_of(other)
        if first != second:
            raise RuntimeError(text(name, first, second))

    return check


def _check_list(name: str) -> Check:
    """Return the check of a function of several tensors, passed as `f(a, b)` or `f([a, b])`."""

    def check(*tensors, **kwargs):
        if len(tensors) == 1 and isinstance(tensors[0], list | tuple):
            tensors = tensors[0]
        devices = [device_of(x) for x in tensors if isinstance(x, Tensor)]
        for number, device in enumerate(devices):
            if device != devices[0]:
                values = {"first": devices[0], "number": number, "device": device}
                raise RuntimeError(text(name, **values))

    return check


def _inner(input, other, **kwargs):
    first, second = device_of(input).type, device_of(other).type
    if first != second:
        raise RuntimeError(text("inner", first, second))


def _attention(query, key, value, attn_mask=None, *args, **kwargs):
    devices = [device_of(tensor) for tensor in (query, key, value)]
    if len(set(devices)) > 1:
        raise RuntimeError(text("attention", *devices))
    if isinstance(attn_mask, Tensor):
        rules.check_attention_mask(query, attn_mask)


def _recurrent(input, second, third, *args, **kwargs):
    """`_VF.lstm`, `_VF.gru`, ...: for packed input, batch sizes come before the hidden state."""
    packed = isinstance(second, Tensor) and second.dtype == torch.int64
    hidden, weights = (third, args[0]) if packed else (second, third)
    for name, tensors in (("hidden", _as_sequence(hidden)), ("parameter", weights)):
        for tensor in tensors:
            if index_of(tensor) != index_of(input):
                values = name, device_of(input), name, device_of(tensor)
                raise RuntimeError(text("recurrent", *values))


def _as_sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)


def _recurrent_cell(method: str, state_name: str) -> Check:
    """Return the check of a recurrent cell: on CUDA, two matrix products and a fused kernel."""

    def check(input, hidden, w_ih, w_hh, b_ih=None, b_hh=None):
        if index_of(input) == CPU:
            return
        states = _as_sequence(hidden)
        check_named("mm", self=input, mat2=w_ih)
        check_named("mm", self=states[0], mat2=w_hh)
        tensors = {"input_gates": input, "hidden_gates": states[0], state_name: states[-1]}
        check_named(method, **tensors, input_bias=b_ih, hidden_bias=b_hh)

    return check


def _quantile(input, q, *args, **kwargs):
    if isinstance(q, Tensor) and index_of(q) != index_of(input):
        raise RuntimeError(text("quantile"))


def _tensor_split(input, sections, *args, **kwargs):
    if isinstance(sections, Tensor) and index_of(sections) != CPU:
        raise RuntimeError(text("tensor_split", device_of(sections)))


def _as_method(name: str, check: Check) -> dict[Callable[..., Any], Check]:
    """Return the same check for `torch.name` and `Tensor.name`."""
    return {getattr(torch, name): check, getattr(Tensor, name): check}


# Each check takes the function's arguments, and raises CUDA's error.
_CHECKS: dict[Callable[..., Any], Check] = {
    F.scaled_dot_product_attention: _attention,
    **dict.fromkeys(
        (F.rms_norm, torch.rms_norm), lambda input, normalized_shape, weight=None, *args, **kwargs:
        check_named("__fused_rms_norm", input=input, weight=weight)),
    _VF.lstm_cell: _recurrent_cell("__thnn_fused_lstm_cell", "cx"),
    _VF.gru_cell: _recurrent_cell("__thnn_fused_gru_cell", "hx"),
    **dict.fromkeys((_VF.lstm, _VF.gru, _VF.rnn_tanh, _VF.rnn_relu), _recurrent),
    **dict.fromkeys((torch.meshgrid, torch.cartesian_prod), _check_list("meshgrid")),
    torch.block_diag: _check_list("block_diag"),
    torch.linalg.multi_dot: _check_list("multi_dot"),
    **_as_method("cholesky_solve", _check_pair("cholesky_solve")),
    **_as_method("take_along_dim", _check_pair("take_along_dim")),
    **_as_method("quantile", _quantile),
    **_as_method("nanquantile", _quantile),
    **_as_method("inner", _inner),
    **_as_method("tensor_split", _tensor_split),
}  # fmt: skip
