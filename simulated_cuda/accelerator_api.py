"""Replacements for the functions of `torch.accelerator`, with the same devices as `torch.cuda`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .cuda_api import CAPABILITY, resolve_device_index
from .machine import Machine


def replacements(
    machine: Machine, cuda: dict[str, Callable[..., Any]]
) -> dict[str, Callable[..., Any]]:
    """Return the replacements for `torch.accelerator`; `cuda` contains those for `torch.cuda`."""

    def current_accelerator(check_available: bool = False) -> torch.device:
        return torch.device("cuda")

    def memory_statistic(name: str) -> Callable[..., int]:
        return lambda device=None: cuda["memory_stats"](device)[name]

    def get_device_capability(device: Any = None) -> dict[str, Any]:
        resolve_device_index(machine, device)
        return {"major": CAPABILITY[0], "minor": CAPABILITY[1]}

    return {
        "is_available": lambda: True,
        "device_count": lambda: machine.count,
        "current_accelerator": current_accelerator,
        "current_device_index": lambda: machine.current,
        "current_device_idx": lambda: machine.current,
        "set_device_index": cuda["set_device"],
        "set_device_idx": cuda["set_device"],
        "get_device_capability": get_device_capability,
        "current_stream": cuda["current_stream"],
        "set_stream": cuda["set_stream"],
        "synchronize": cuda["synchronize"],
        "device_index": _device_index(machine),
        "empty_cache": cuda["empty_cache"],
        "empty_host_cache": lambda: None,
        "memory_stats": cuda["memory_stats"],
        "memory_allocated": memory_statistic("allocated_bytes.all.current"),
        "max_memory_allocated": memory_statistic("allocated_bytes.all.peak"),
        "memory_reserved": memory_statistic("reserved_bytes.all.current"),
        "max_memory_reserved": memory_statistic("reserved_bytes.all.peak"),
        "reset_peak_memory_stats": cuda["reset_peak_memory_stats"],
        "reset_accumulated_memory_stats": cuda["reset_accumulated_memory_stats"],
        "get_memory_info": cuda["mem_get_info"],
    }


def _device_index(machine: Machine) -> type:
    class device_index:
        """`with torch.accelerator.device_index(1)`; None changes nothing."""

        def __init__(self, device: int | None) -> None:
            self.index = device

        def __enter__(self) -> None:
            self.before = machine.current
            if self.index is not None:
                machine.current = resolve_device_index(machine, self.index)

        def __exit__(self, *details: object) -> None:
            machine.current = self.before

    return device_index
