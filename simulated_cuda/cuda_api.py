"""Replacements for the device and memory functions of `torch.cuda` and `torch.accelerator`."""

import gc
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import torch

from . import messages, waits
from .cards import Card
from .device_tags import index_of
from .machine import Machine
from .memory import DeviceMemory
from .settings import NAME, table

# The capability of Ampere GPUs. Programs that check it use bfloat16 and TF32, which are supported.
CAPABILITY = (8, 0)
_SYNC_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


class DeviceProperties(SimpleNamespace):
    """The result of `torch.cuda.get_device_properties`; `total_memory` in bytes."""

    def __init__(self, total_memory: int, card: Card | None = None) -> None:
        major, minor = CAPABILITY if card is None else card.capability
        super().__init__(
            name=NAME if card is None else card.torch_name, major=major, minor=minor,
            total_memory=total_memory, multi_processor_count=1 if card is None else card.sms,
            L2_cache_size=1 << 20 if card is None else int(card.l2) << 20,
            **table("functions")["device_properties"],
        )  # fmt: skip


def device_functions(machine: Machine) -> dict[str, Any]:
    """Return the replacements for functions of `torch.cuda` about devices, by name."""

    def get_device_properties(device: Any = None) -> DeviceProperties:
        try:
            machine.resolve_gpu(device)
        except messages.CUDA_ERROR:
            raise AssertionError("Invalid device id") from None
        return DeviceProperties(machine.total, machine.card)

    def get_device_capability(device: Any = None) -> tuple[int, int]:
        properties = get_device_properties(device)
        return properties.major, properties.minor

    def set_device(device: Any) -> None:
        if not (isinstance(device, int) and device < 0):
            machine.current = machine.resolve_gpu(device)

    def exchange_device(index: int) -> int:
        previous = machine.current
        set_device(index)
        return previous

    def synchronize(device: Any = None) -> None:
        index = machine.resolve_gpu(device)
        if machine.clock is not None:
            machine.clock.wait(index, name="torch.cuda.synchronize")

    def set_sync_debug_mode(debug_mode: int | str) -> None:
        mode = _SYNC_DEBUG_MODES.get(debug_mode, debug_mode)
        if mode not in _SYNC_DEBUG_MODES.values():
            names = "`default`, `warn`, `error`" if isinstance(debug_mode, str) else "0,1,2"
            raise RuntimeError(f"invalid value of debug_mode, expected one of {names}")
        machine.sync_debug_mode = mode
        waits.set_debug_mode(machine, mode)

    return {
        "is_available": lambda: machine.count > 0,
        "is_initialized": lambda: machine.initialized,
        "is_bf16_supported": lambda including_emulation=True: (
            including_emulation or get_device_capability() >= (8, 0)
        ),
        "is_tf32_supported": lambda: get_device_capability() >= (8, 0),
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
        "get_device_capability": get_device_capability,
        "get_arch_list": lambda: ["sm_{}{}".format(*get_device_capability())],
        "get_gencode_flags": lambda: "",
        "can_device_access_peer": lambda device, peer_device: (
            machine.resolve_gpu(device) != machine.resolve_gpu(peer_device)
        ),
        "synchronize": synchronize,
        "ipc_collect": lambda: None,
        "is_current_stream_capturing": lambda: False,
        "_sleep": lambda cycles: None,
        "set_sync_debug_mode": set_sync_debug_mode,
        "get_sync_debug_mode": lambda: machine.sync_debug_mode,
    }


def memory_functions(machine: Machine) -> dict[str, Callable[..., Any]]:
    """Return the replacements for functions of `torch.cuda` about memory, by name."""

    def memory_of(device: Any) -> DeviceMemory:
        try:
            return machine.memories[machine.resolve_gpu(device)]
        except messages.CUDA_ERROR:
            text = "Invalid device argument : did you call init?"
            raise RuntimeError(text) from None

    def memory_with_gradients(device: Any) -> DeviceMemory:
        memory = memory_of(device)
        if not machine.every_allocation:
            _allocate_gradients()
        return memory

    def memory_stats(device: Any = None) -> OrderedDict[str, int]:
        return _statistics(memory_with_gradients(device))

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

    return {
        "set_per_process_memory_fraction": set_per_process_memory_fraction,
        "get_per_process_memory_fraction": lambda device=None: (
            memory_of(device).available / memory_of(device).total
        ),
        "memory_stats": memory_stats,
        "memory_stats_as_nested_dict": memory_stats,
        "memory_snapshot": memory_snapshot,
        "reset_peak_memory_stats": lambda device=None: memory_with_gradients(device).reset_peaks(),
        "reset_accumulated_memory_stats": lambda device=None: memory_of(device).reset_accumulated(),
        "empty_cache": empty_cache,
        "mem_get_info": mem_get_info,
        "device_memory_used": lambda device=None: memory_of(device).current("reserved_bytes"),
        "list_gpu_processes": lambda device=None: f"GPU:{machine.resolve_gpu(device)}\nsimulated",
    }


def _allocate_gradients() -> None:
    """Allocate device memory for all gradients: reading `.grad` sets a gradient's device."""
    for candidate in gc.get_objects():
        # isinstance would trigger the loading of lazy objects of other libraries.
        is_tensor = type(candidate) in (torch.Tensor, torch.nn.Parameter)
        if is_tensor and candidate.requires_grad and candidate.is_leaf:
            _ = candidate.grad


def _statistics(memory: DeviceMemory) -> OrderedDict[str, int]:
    """Return a device's statistics, with the keys of `torch.cuda.memory_stats`."""
    memory.collect()
    figures = dict(memory.statistics)
    # A block is active exactly as long as it is allocated, since no other stream can use it.
    figures |= {"active": figures["allocation"], "active_bytes": figures["allocated_bytes"]}
    result: OrderedDict[str, int] = OrderedDict()
    kinds = ("current", "peak", "allocated", "freed")
    for metric in sorted(figures):
        for number, pool in enumerate(("large_pool", "small_pool", "all")):
            for kind in kinds:
                result[f"{metric}.{pool}.{kind}"] = getattr(figures[metric], kind)[number]
    for name in ("oversize_allocations", "oversize_segments"):
        result |= {f"{name}.{kind}": 0 for kind in kinds}
    result.update(
        max_split_size=-1, num_alloc_retries=memory.retries,
        num_device_alloc=result["segment.all.allocated"],
        num_device_free=result["segment.all.freed"], num_ooms=memory.out_of_memory_errors,
        num_sync_all_streams=0,
    )  # fmt: skip
    return result


def accelerator_functions(
    machine: Machine, cuda: dict[str, Callable[..., Any]]
) -> dict[str, Callable[..., Any]]:
    """Return the replacements for `torch.accelerator`; `cuda` contains those for `torch.cuda`."""

    names = table("functions")["accelerator"]

    @contextmanager
    def device_index(device: int | None) -> Iterator[None]:
        before = cuda["_exchange_device"](machine.resolve_gpu(device))
        try:
            yield
        finally:
            machine.current = before

    return {
        **{name: cuda[other] for name, other in names["functions"].items()},
        **{
            name: lambda device=None, key=key: cuda["memory_stats"](device)[key]
            for name, key in names["statistics"].items()
        },
        "current_accelerator": lambda check_available=False: (
            torch.device("cuda") if machine.count else None
        ),
        "get_device_capability": lambda device=None: dict(
            zip(("major", "minor"), cuda["get_device_capability"](device), strict=True)
        ),
        "device_index": device_index,
        "empty_host_cache": lambda: None,
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


def tensor_type(dtype: torch.dtype, name: str) -> type:
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
