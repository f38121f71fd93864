"""Replacements for the device functions of `torch.cuda`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from . import messages
from .machine import Machine
from .places import CPU, index_of
from .settings import NAME

# The capability of Ampere GPUs. Programs that check it use bfloat16 and TF32, which are supported.
CAPABILITY = (8, 0)


@dataclass(frozen=True)
class DeviceProperties:
    """The result of `torch.cuda.get_device_properties`; `total_memory` in bytes."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int = 1
    warp_size: int = 32
    max_threads_per_multi_processor: int = 2048
    max_threads_per_block: int = 1024
    regs_per_multiprocessor: int = 65536
    shared_memory_per_block: int = 49152
    shared_memory_per_block_optin: int = 101376
    shared_memory_per_multiprocessor: int = 102400
    L2_cache_size: int = 1 << 20
    clock_rate: int = 1_000_000
    memory_clock_rate: int = 1_000_000
    memory_bus_width: int = 64
    pci_bus_id: int = 0
    pci_device_id: int = 0
    pci_domain_id: int = 0
    is_integrated: int = 0
    is_multi_gpu_board: int = 0
    gcnArchName: str = ""
    uuid: str = "00000000-0000-0000-0000-000000000000"

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, "
            f"multi_processor_count={self.multi_processor_count}, "
            f"L2_cache_size={self.L2_cache_size >> 20}MB)"
        )


def resolve_device_index(machine: Machine, device: Any = None) -> int:
    """Return the index of `device`, an argument of `torch.cuda` functions; None means current."""
    if device is None:
        return machine.current
    device_index = machine.resolve(device)
    if device_index is None or device_index == CPU:
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return device_index


def replacements(machine: Machine) -> dict[str, Callable[..., Any]]:
    """Return the replacements for functions of `torch.cuda`, by name."""

    def get_device_properties(device: Any = None) -> DeviceProperties:
        try:
            resolve_device_index(machine, device)
        except messages.CUDA_ERROR:
            raise AssertionError("Invalid device id") from None
        return DeviceProperties(NAME, *CAPABILITY, machine.total)

    def set_device(device: Any) -> None:
        if not (isinstance(device, int) and device < 0):
            machine.current = resolve_device_index(machine, device)

    def exchange_device(index: int) -> int:
        previous = machine.current
        if index >= 0:
            machine.current = resolve_device_index(machine, index)
        return previous

    def synchronize(device: Any = None) -> None:
        resolve_device_index(machine, device)

    def can_device_access_peer(device: Any, peer_device: Any) -> bool:
        return resolve_device_index(machine, device) != resolve_device_index(machine, peer_device)

    return {
        "is_available": lambda: True,
        "is_initialized": lambda: machine.initialized,
        "is_bf16_supported": lambda including_emulation=True: True,
        "is_tf32_supported": lambda: True,
        "init": machine.touch,
        # Activation checkpointing saves the states of generators only if this is True.
        "_initialized": True,
        "_lazy_call": lambda callable, **kwargs: callable(),
        "_is_in_bad_fork": lambda: machine.forked,
        "device_count": lambda: machine.count,
        "_device_count_nvml": lambda: machine.count,
        "current_device": lambda: machine.current,
        "set_device": set_device,
        "_exchange_device": exchange_device,
        "_maybe_exchange_device": exchange_device,
        "get_device_properties": get_device_properties,
        "get_device_name": lambda device=None: get_device_properties(device).name,
        "get_device_capability": lambda device=None: (get_device_properties(device), CAPABILITY)[1],
        "get_arch_list": lambda: [f"sm_{CAPABILITY[0]}{CAPABILITY[1]}"],
        "get_gencode_flags": lambda: "",
        "can_device_access_peer": can_device_access_peer,
        "synchronize": synchronize,
        "ipc_collect": lambda: None,
        "is_current_stream_capturing": lambda: False,
        "_sleep": lambda cycles: None,
        "set_sync_debug_mode": lambda debug_mode: None,
        "get_sync_debug_mode": lambda: 0,
    }


def wrap_set_default_tensor_type(set_type: Callable[[Any], None]) -> Callable[[Any], None]:
    """Wrap `torch.set_default_tensor_type` to support types such as `torch.cuda.FloatTensor`."""

    def set_default(t: Any, /) -> None:
        name = t if isinstance(t, str) else f"{t.__module__}.{t.__qualname__}"
        if not name.startswith("torch.cuda."):
            torch.set_default_device(None)
            set_type(t)
            return
        torch.set_default_dtype(getattr(torch.cuda, name.rpartition(".")[2]).dtype)
        torch.set_default_device("cuda")

    return set_default


def tensor_type(machine: Machine, dtype: torch.dtype, name: str) -> type:
    """Return a type such as `torch.cuda.FloatTensor`, to create tensors or use in `isinstance`."""

    class _Type(type):
        def __instancecheck__(cls, value: Any) -> bool:
            has_dtype = isinstance(value, torch.Tensor) and value.dtype == dtype
            return has_dtype and index_of(value) >= 0

        def __call__(cls, *args: Any) -> torch.Tensor:
            if len(args) == 1 and not isinstance(args[0], int):
                return torch.tensor(args[0], dtype=dtype, device="cuda")
            return torch.empty(*(args or (0,)), dtype=dtype, device="cuda")

    return _Type(name, (), {"__module__": "torch.cuda", "dtype": dtype})
