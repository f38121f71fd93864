"""Checks that PyTorch makes above its primitive operations, in the functions people call.

Each takes the simulated machine and the function's own arguments, and raises what CUDA raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import _VF

from . import messages
from .machine import Machine
from .places import index_of


def _take_along_dim(machine: Machine, input: torch.Tensor, indices: torch.Tensor, *rest, **more):
    here, there = machine.name(index_of(input)), machine.name(index_of(indices))
    if here != there:
        raise RuntimeError(
            f"Expected tensor to have {here} Device, but got tensor with {there} Device (while "
            "checking arguments for torch.take_along_dim():)"
        )


def _attention(machine: Machine, query, key, value, attn_mask=None, *rest, **more):
    places = [machine.name(index_of(tensor)) for tensor in (query, key, value)]
    if len(set(places)) > 1:
        raise RuntimeError(
            "Expected query, key, and value to have the same device type, but got query.device: "
            f"{places[0]} key.device: {places[1]} and value.device: {places[2]} instead."
        )


def _same_as_input(machine: Machine, input: torch.Tensor, groups: dict[str, Any]) -> None:
    here = index_of(input)
    for name, tensors in groups.items():
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor) and index_of(tensor) != here:
                raise RuntimeError(
                    f"Input and {name} tensors are not at the same device, found input tensor at "
                    f"{machine.name(here)} and {name} tensor at {machine.name(index_of(tensor))}"
                )


def _recurrent(machine: Machine, input, second, third, *rest, **more):
    """`_VF.lstm` and its kin, whose packed form takes the batch sizes before the hidden state."""
    packed = isinstance(third, torch.Tensor) or (
        isinstance(second, torch.Tensor) and second.dtype == torch.int64
    )
    hidden, weights = (third, rest[0]) if packed else (second, third)
    hiddens = hidden if isinstance(hidden, list | tuple) else (hidden,)
    _same_as_input(machine, input, {"hidden": hiddens, "parameter": weights})


def _recurrent_cell(method: str, names: tuple[str, ...]) -> Callable[..., None]:
    """On CUDA a cell is two matrix products and one kernel that takes their sums."""

    def check(machine: Machine, input, hidden, w_ih, w_hh, b_ih=None, b_hh=None) -> None:
        if index_of(input) < 0:
            return
        hiddens = hidden if isinstance(hidden, list | tuple) else (hidden,)
        for first, second in ((input, w_ih), (hiddens[0], w_hh)):
            _first_decides(machine, "mm", {"self": first, "mat2": second})
        inside = (input, hiddens[0], hiddens[-1], b_ih, b_hh)
        _first_decides(machine, method, dict(zip(names, inside, strict=True)))

    return check


def _first_decides(machine: Machine, method: str, tensors: dict[str, Any]) -> None:
    known = {name: index_of(tensor) for name, tensor in tensors.items() if tensor is not None}
    first = next(iter(known.values()))
    for name, where in known.items():
        if where != first:
            places = str(machine.name(where)), str(machine.name(first))
            raise RuntimeError(messages.wrong_argument(name, *places, method))


_LSTM_CELL = ("input_gates", "hidden_gates", "cx", "input_bias", "hidden_bias")
_GRU_CELL = ("input_gates", "hidden_gates", "hx", "input_bias", "hidden_bias")

CHECKS: dict[Callable[..., Any], Callable[..., None]] = {
    torch.take_along_dim: _take_along_dim,
    torch.Tensor.take_along_dim: _take_along_dim,
    F.scaled_dot_product_attention: _attention,
    _VF.lstm_cell: _recurrent_cell("__thnn_fused_lstm_cell", _LSTM_CELL),
    _VF.gru_cell: _recurrent_cell("__thnn_fused_gru_cell", _GRU_CELL),
    _VF.lstm: _recurrent,
    _VF.gru: _recurrent,
    _VF.rnn_tanh: _recurrent,
    _VF.rnn_relu: _recurrent,
}
