"""Replacements for the memory functions of `torch.cuda` and `torch.accelerator`."""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch

from . import messages
from .cuda_api import resolve_device_index
from .machine import Machine
from .memory import DeviceMemory


def _allocate_gradients() -> None:
    """Allocate device memory for all gradients: reading `.grad` sets a gradient's device."""
    for candidate in gc.get_objects():
        # isinstance would trigger the loading of lazy objects of other libraries.
        is_tensor = type(candidate) in (torch.Tensor, torch.nn.Parameter)
        if is_tensor and candidate.requires_grad and candidate.is_leaf:
            _ = candidate.grad


def statistics(memory: DeviceMemory) -> OrderedDict[str, int]:
    """Return a device's statistics, with the keys of `torch.cuda.memory_stats`."""
    memory.collect()
    figures = dict(memory.statistics)
    # A block is active exactly as long as it is allocated, since no other stream can use it.
    figures |= {"active": figures["allocation"], "active_bytes": figures["allocated_bytes"]}
    result: OrderedDict[str, int] = OrderedDict()
    for metric in sorted(figures):
        for number, pool in enumerate(("large_pool", "small_pool", "all")):
            for kind in ("current", "peak", "allocated", "freed"):
                result[f"{metric}.{pool}.{kind}"] = getattr(figures[metric], kind)[number]
    for name in ("oversize_allocations", "oversize_segments"):
        for kind in ("current", "peak", "allocated", "freed"):
            result[f"{name}.{kind}"] = 0
    result.update(
        max_split_size=-1, num_alloc_retries=memory.retries,
        num_device_alloc=result["segment.all.allocated"],
        num_device_free=result["segment.all.freed"], num_ooms=memory.out_of_memory_errors,
        num_sync_all_streams=0,
    )  # fmt: skip
    return result


def replacements(machine: Machine) -> dict[str, Callable[..., Any]]:
    """Return the replacements for the memory functions of `torch.cuda`, by name."""

    def memory_of(device: Any) -> DeviceMemory:
        try:
            return machine.memories[resolve_device_index(machine, device)]
        except messages.CUDA_ERROR:
            text = "Invalid device argument : did you call init?"
            raise RuntimeError(text) from None

    def memory_with_gradients(device: Any) -> DeviceMemory:
        memory = memory_of(device)
        if not machine.every_allocation:
            _allocate_gradients()
        return memory

    def memory_stats(device: Any = None) -> OrderedDict[str, int]:
        return statistics(memory_with_gradients(device))

    def reset_peak_memory_stats(device: Any = None) -> None:
        memory_with_gradients(device).reset_peaks()

    def reset_accumulated_memory_stats(device: Any = None) -> None:
        memory_of(device).reset_accumulated()

    def empty_cache() -> None:
        for memory in machine.memories:
            memory.empty_cache()

    def mem_get_info(device: Any = None) -> tuple[int, int]:
        memory = memory_with_gradients(device)
        return memory.total - memory.current("reserved_bytes"), memory.total

    def memory_snapshot(*args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        memories = [memory_with_gradients(index) for index in range(machine.count)]
        return [segment for memory in memories for segment in memory.snapshot()]

    def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
        if not 0 <= fraction <= 1:
            raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
        memory = memory_of(device)
        memory.set_limit(int(fraction * memory.total))

    def get_per_process_memory_fraction(device: Any = None) -> float:
        memory = memory_of(device)
        return 1.0 if memory.limit is None else memory.limit / memory.total

    return {
        "set_per_process_memory_fraction": set_per_process_memory_fraction,
        "get_per_process_memory_fraction": get_per_process_memory_fraction,
        "memory_stats": memory_stats,
        "memory_stats_as_nested_dict": memory_stats,
        "memory_snapshot": memory_snapshot,
        "reset_peak_memory_stats": reset_peak_memory_stats,
        "reset_accumulated_memory_stats": reset_accumulated_memory_stats,
        "empty_cache": empty_cache,
        "mem_get_info": mem_get_info,
        "device_memory_used": lambda device=None: memory_of(device).current("reserved_bytes"),
        "list_gpu_processes": lambda device=None: (
            f"GPU:{resolve_device_index(machine, device)}\nsimulated"
        ),
    }
