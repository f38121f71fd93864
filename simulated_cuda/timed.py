"""Passes the operations on a simulated device to its clock, as the kernels that CUDA launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

from . import shapes_only, streams
from .device_tags import CPU, index_of, tag_of, thread
from .machine import Machine
from .mode import EveryAllocation
from .waits import Waits
from .work import Work, attention, nbytes, works_of


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
        if not clock.is_suppressed:
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


def _as_one_kernel(work_of: Callable[..., Work], compute: Callable[..., Any]) -> Callable[..., Any]:
    """Return a handler for a function that is one kernel on CUDA, and several steps on the CPU."""

    def handle(mode, func, args, kwargs):
        clock, device_index = mode.machine.clock, index_of(args[0])
        if device_index < 0 or clock.is_suppressed:
            return func(*args, **kwargs)
        clock.is_suppressed = True
        try:
            result = compute(mode, func, args, kwargs, device_index)
        finally:
            clock.is_suppressed = False
        clock.launch([work_of(*args, **kwargs)], device_index, streams.current_key(device_index))
        return result

    return handle


def _attention_work(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **options):
    return attention("attention", query, key, value, is_causal)


def _attend(mode, func, args, kwargs, device_index: int):
    if mode.machine.computes:
        return mode.run(func, args, kwargs, device_index)

    # The operation that the CPU chooses depends on the arguments; its own fused one always has a
    # fused backward pass, as CUDA's have.
    def fused(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, **gqa):
        if key.shape[-3] != query.shape[-3]:
            repeat = query.shape[-3] // key.shape[-3]
            key, value = (x.repeat_interleave(repeat, -3) for x in (key, value))
        flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        mask = None if attn_mask is None else attn_mask.detach()
        missing = (None,) * (4 - query.dim())  # the operation wants four dimensions
        q, k, v = query[missing], key[missing], value[missing]
        result = flash(q, k, v, 0.0, is_causal, attn_mask=mask, scale=scale)[0]
        return result.reshape(*query.shape[:-1], value.shape[-1])

    return mode.run(fused, args, kwargs, device_index)


def _dropout_work(input, p=0.5, training=True, inplace=False):
    if not training or not p:
        return Work("elementwise", 0.0, name="dropout")
    return Work("elementwise", 2 * nbytes(input) + input.numel(), name="dropout")


def _run(mode, func, args, kwargs, device_index: int):
    return mode.run(func, args, kwargs, device_index)


def handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return the handlers for functions that are one kernel on CUDA."""
    return {
        F.scaled_dot_product_attention: _as_one_kernel(_attention_work, _attend),
        F.dropout: _as_one_kernel(_dropout_work, _run),
    }
