"""Passes the operations on a simulated device to its clock, as the kernels that CUDA launches."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch
from torch import _VF
from torch.nn import functional as F
from torch.utils._pytree import tree_leaves

from . import shapes_only, streams
from .device_tags import CPU, index_of, tag_of, thread
from .machine import Machine
from .mode import EveryAllocation
from .waits import Waits
from .work import Work, attention, attention_backward, nbytes, product, works_of


class TimedOperations(EveryAllocation):
    """Launches the kernels of all operations on the machine's clock."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine.memories)
        self.machine = machine

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        """Run one operation; in inference mode, composite operations arrive whole."""
        if torch.is_inference_mode_enabled():
            with torch._C.DisableTorchFunction(), self:
                result = operation.decompose(*args, **(kwargs or {}))
            if result is not NotImplemented:
                return result
        return super().__torch_dispatch__(operation, types, args, kwargs)

    def compute(self, operation, args: tuple, kwargs: dict) -> Any:
        """Return the result of an operation, or a tensor of its shape."""
        if self.machine.computes:
            return super().compute(operation, args, kwargs)
        return shapes_only.run(operation, args, kwargs, self.machine.memories)

    def note(self, operation, args: tuple, kwargs: dict, result: Any, device_index: int) -> None:
        """Launch the kernels of an operation."""
        clock = self.machine.clock
        node = torch._C._current_autograd_node()
        if not clock.is_suppressed and not (node and _ONE_KERNEL in node.metadata):
            name = operation._schema.name.partition("::")[2]
            works = works_of(name, args, kwargs, result)
            stream = streams.current_key(device_index)
            clock.launch(works, device_index, stream, in_backward=thread.backward_depth > 0)


class TimedWaits(Waits):
    """Passes the waits of the CPU, and copies between devices, to the machine's clock."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine = machine

    def note(self, operation: str, count: int = 1, reads: bool = True) -> None:
        """Let the CPU wait for the current device."""
        for _ in range(count):
            self.machine.clock.wait(self.machine.current, name=self._function or operation)

    def _note_copy(
        self, source: torch.Tensor, target: torch.device, nbytes: int, args: tuple, kwargs: dict
    ) -> None:
        tag = tag_of(source)
        # `x.to(dtype)` and `x.to(memory_format=...)` name no device.
        named = (*args[1:], *(kwargs[name] for name in kwargs.keys() & {"device", "other"}))
        is_move = not (kwargs or named) or any(not isinstance(v, torch.dtype | bool) for v in named)
        if nbytes and (source.device != target or (tag.from_host and is_move)):
            flags = (value for value in args[1:] if isinstance(value, bool))
            ends = [CPU if d.type == "cpu" else d.index or 0 for d in (source.device, target)]
            self.machine.clock.copy(
                nbytes, CPU if tag.from_host else ends[0], ends[1],
                stream=streams.current_key(max(ends)), pinned=tag.pinned,
                non_blocking=kwargs.get("non_blocking", next(flags, False)),
            )  # fmt: skip


def modes(machine: Machine) -> tuple[TimedOperations, TimedWaits]:
    """Return the modes that pass operations and waits of a thread to the clock."""
    return TimedOperations(machine), TimedWaits(machine)


_ONE_KERNEL = "one kernel on CUDA"  # in the metadata of nodes of the autograd graph


def _as_one_kernel(
    works_of: Callable[..., list[Work]],
    backward: Callable[[list[Work]], list[Work]] = list,
    compute: Callable[..., Any] = lambda mode, *args: mode.run(*args),
) -> Callable[..., Any]:
    """Return a handler for a function that CUDA computes at once, and the CPU in several steps.

    `backward` maps the works to those of the backward pass.
    """

    def handle(mode, func, args, kwargs):
        first = args[0] if args else kwargs.get("input", kwargs.get("query"))
        clock, device_index = mode.machine.clock, index_of(first)
        if device_index < 0 or clock.is_suppressed:
            return func(*args, **kwargs)
        ends = [getattr(x, "grad_fn", None) for x in tree_leaves([args, kwargs])]
        clock.is_suppressed = True
        try:
            result = compute(mode, func, args, kwargs, device_index)
        finally:
            clock.is_suppressed = False
        works, key = works_of(*args, **kwargs), streams.current_key(device_index)
        clock.launch(works, device_index, key)
        backward_works, passes = backward(works), set()

        def launch_backward(_gradients: Any) -> None:
            if (current := torch._C._current_graph_task_id()) not in passes:
                passes.add(current)
                clock.launch(backward_works, device_index, key, in_backward=True)

        nodes = [getattr(x, "grad_fn", None) for x in tree_leaves(result) if works]
        for node in filter(None, nodes):
            node.register_prehook(launch_backward)
        while nodes:
            node = nodes.pop()
            if node and node not in ends and "AccumulateGrad" not in node.name():
                if _ONE_KERNEL not in node.metadata:
                    nodes += [following for following, _ in node.next_functions]
                node.metadata[_ONE_KERNEL] = True
        return result

    return handle


def _attend(mode, func, args, kwargs, device_index: int):
    if mode.machine.computes:
        return mode.run(func, args, kwargs, device_index)

    # The operation that the CPU chooses depends on the arguments; its own fused one always has a
    # fused backward pass, as CUDA's have.
    def fused(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, **gqa):
        if key.shape[-3:-2] != query.shape[-3:-2]:
            repeat = query.shape[-3] // key.shape[-3]
            key, value = (x.repeat_interleave(repeat, -3) for x in (key, value))
        flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        mask = None if attn_mask is None else attn_mask.detach()
        missing = (None,) * (4 - query.dim())  # the operation wants four dimensions
        q, k, v = query[missing], key[missing], value[missing]
        result = flash(q, k, v, 0.0, is_causal, attn_mask=mask, scale=scale)[0]
        return result.reshape(*query.shape[:-1], value.shape[-1])

    return mode.run(fused, args, kwargs, device_index)


def _multi_head(mode, func, args, kwargs):
    """Let `F.multi_head_attention_forward` call the handler of attention, as no mode sees it."""

    def attend(*args: Any, **kwargs: Any) -> torch.Tensor:
        return _attention_handler(mode, F.scaled_dot_product_attention, args, kwargs)

    names = func.__globals__ | {"scaled_dot_product_attention": attend}
    function = FunctionType(func.__code__, names, argdefs=func.__defaults__)
    return mode.run(function, args, kwargs, index_of(args[0]))


def _dropout_works(input, p=0.5, training=True, inplace=False):
    if not training or not p:
        return []
    return [Work("elementwise", 2 * nbytes(input) + input.numel(), name="dropout")]


def _norm(mode, func, args, kwargs, device_index: int):
    # It needs as much memory as CUDA's; the CPU's RMSNorm would keep the result of each step.
    def norm(input, normalized_shape, weight=None, eps=None):
        return F.layer_norm(input, normalized_shape, weight)

    return mode.run(func if mode.machine.computes else norm, args, kwargs, device_index)


def _recurrent_works(input, second, third, *args, **options):
    """Return the products of layers: those of all inputs at once, and those of each step."""
    packed = isinstance(second, torch.Tensor) and second.dtype == torch.int64
    weights = [x for x in (args[0] if packed else third) if x.dim() == 2]
    rows = math.prod(input.shape[:-1])
    steps = len(second) if packed else input.shape[1 if args[-1] is True else 0]
    works = []
    for of_inputs, of_states in zip(weights[::2], weights[1::2], strict=False):
        works.append(product("recurrent", (1, rows, *of_inputs.shape), input.dtype))
        works += steps * [product("recurrent", (1, rows / steps, *of_states.shape), input.dtype)]
    return works


_attention_handler = _as_one_kernel(
    lambda query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **options: (
        [attention(query, key, value, is_causal)]
    ),
    lambda works: [*map(attention_backward, works)],
    _attend,
)
_norm_handler = _as_one_kernel(
    lambda input, *args, **kwargs: [Work("reduction", 2 * nbytes(input), name="rms_norm")],
    compute=_norm,
)


def handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return the handlers for functions that are one kernel on CUDA."""
    return {
        F.scaled_dot_product_attention: _attention_handler,
        F.multi_head_attention_forward: _multi_head,
        F.dropout: _as_one_kernel(_dropout_works),
        **dict.fromkeys((F.rms_norm, torch.rms_norm), _norm_handler),
        **dict.fromkeys(
            (_VF.lstm, _VF.gru, _VF.rnn_tanh, _VF.rnn_relu),
            _as_one_kernel(_recurrent_works, lambda works: 2 * works),
        ),
    }
