"""Replacements for the memory functions of `torch.cuda` and `torch.accelerator`."""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch

from . import messages
from .cuda_api import device_number
from .machine import Machine
from .memory import DeviceMemory

_METRICS = (
    "allocated_bytes", "active_bytes", "requested_bytes", "reserved_bytes", "inactive_split_bytes",
    "allocation", "active", "segment", "inactive_split",
)  # fmt: skip


def _claim_gradients() -> None:
    """Count the gradients that autograd has computed: reading `.grad` notes their device."""
    for thing in gc.get_objects():
        # Not isinstance, which would make lazy objects of other libraries load themselves.
        is_tensor = type(thing) in (torch.Tensor, torch.nn.Parameter)
        if is_tensor and thing.requires_grad and thing.is_leaf:
            _ = thing.grad


def statistics(memory: DeviceMemory) -> OrderedDict[str, int]:
    """The numbers of one device under their names in `torch.cuda.memory_stats`."""
    reserved = (memory.reserved, memory.peak_reserved, memory.peak_reserved, 0)
    used = (
        memory.allocated, memory.peak_allocated, memory.allocated + memory.freed_bytes,
        memory.freed_bytes,
    )  # fmt: skip
    blocks = (
        memory.blocks, memory.peak_blocks, memory.blocks + memory.freed_blocks,
        memory.freed_blocks,
    )  # fmt: skip
    spare = (memory.reserved - memory.allocated, memory.peak_reserved, memory.peak_reserved, 0)
    figures = {
        "allocated_bytes": used,
        "active_bytes": used,
        "requested_bytes": (memory.requested, memory.peak_requested, *used[2:]),
        "reserved_bytes": reserved,
        "inactive_split_bytes": spare,
        "allocation": blocks,
        "active": blocks,
        "segment": tuple(int(figure > 0) for figure in reserved),
        "inactive_split": tuple(int(figure > 0) for figure in spare),
    }
    result: OrderedDict[str, int] = OrderedDict()
    for metric in sorted(_METRICS):
        for pool in ("all", "large_pool", "small_pool"):
            values = figures[metric] if pool != "small_pool" else (0, 0, 0, 0)
            for kind, value in zip(("current", "peak", "allocated", "freed"), values, strict=True):
                result[f"{metric}.{pool}.{kind}"] = value
    for name in ("oversize_allocations", "oversize_segments"):
        for kind in ("current", "peak", "allocated", "freed"):
            result[f"{name}.{kind}"] = 0
    result.update(
        max_split_size=-1, num_alloc_retries=0, num_device_alloc=result["segment.all.current"],
        num_device_free=0, num_ooms=memory.out_of_memory_errors, num_sync_all_streams=0,
    )  # fmt: skip
    return result


def replacements(machine: Machine) -> dict[str, Callable[..., Any]]:
    """The replacement of each of `torch.cuda`'s memory functions, by name."""
    summarize = torch.cuda.memory.memory_summary

    def of(device: Any) -> DeviceMemory:
        try:
            return machine.memories[device_number(machine, device)]
        except messages.CUDA_ERROR:
            text = "Invalid device argument : did you call init?"
            raise RuntimeError(text) from None

    def memory_stats(device: Any = None) -> OrderedDict[str, int]:
        _claim_gradients()
        return statistics(of(device))

    def reset_peak_memory_stats(device: Any = None) -> None:
        _claim_gradients()
        of(device).reset_peaks()

    def reset_accumulated_memory_stats(device: Any = None) -> None:
        memory = of(device)
        memory.freed_bytes = memory.freed_blocks = memory.out_of_memory_errors = 0

    def empty_cache() -> None:
        for memory in machine.memories:
            memory.empty_cache()

    def mem_get_info(device: Any = None) -> tuple[int, int]:
        _claim_gradients()
        memory = of(device)
        return memory.total - memory.reserved, memory.total

    def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
        # The two pools are not tracked separately; the abbreviated table leaves them out.
        return summarize(device, abbreviated=True)

    def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
        if not 0 <= fraction <= 1:
            raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
        memory = of(device)
        memory.limit = int(fraction * memory.total)

    return {
        "set_per_process_memory_fraction": set_per_process_memory_fraction,
        "memory_stats": memory_stats,
        "memory_stats_as_nested_dict": memory_stats,
        "memory_summary": memory_summary,
        "memory_snapshot": lambda *args, **kwargs: [],
        "reset_peak_memory_stats": reset_peak_memory_stats,
        "reset_accumulated_memory_stats": reset_accumulated_memory_stats,
        "empty_cache": empty_cache,
        "mem_get_info": mem_get_info,
        "device_memory_used": lambda device=None: of(device).reserved,
        "list_gpu_processes": lambda device=None: (
            f"GPU:{device_number(machine, device)}\nsimulated"
        ),
    }
