"""Stand-ins for the functions of `torch.cuda`: what devices there are, which is current, seeds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

from . import messages
from .machine import Machine
from .places import CPU, index_of

NAME = "Simulated GPU"
# An ordinary one: nothing that a course program asks for is missing, and nothing is promised.
CAPABILITY = (8, 0)


@dataclass(frozen=True)
class DeviceProperties:
    """What `torch.cuda.get_device_properties` gives; `total_memory` in bytes."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int = 1
    warp_size: int = 32
    max_threads_per_multi_processor: int = 2048
    regs_per_multiprocessor: int = 65536
    shared_memory_per_block: int = 49152
    L2_cache_size: int = 1 << 20
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


def device_number(machine: Machine, device: Any = None) -> int:
    """The number of the device that a function of `torch.cuda` was asked about."""
    if device is None:
        return machine.current
    where = machine.resolve(device)
    if where is None or where == CPU:
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return where


def replacements(machine: Machine) -> dict[str, Callable[..., Any]]:
    """What takes the place of each of `torch.cuda`'s functions, by name."""

    def get_device_properties(device: Any = None) -> DeviceProperties:
        try:
            device_number(machine, device)
        except messages.CUDA_ERROR:
            raise AssertionError("Invalid device id") from None
        return DeviceProperties(NAME, *CAPABILITY, machine.total)

    def set_device(device: Any) -> None:
        if not (isinstance(device, int) and device < 0):
            machine.current = device_number(machine, device)

    def exchange_device(index: int) -> int:
        before = machine.current
        if index >= 0:
            machine.current = device_number(machine, index)
        return before

    def synchronize(device: Any = None) -> None:
        device_number(machine, device)

    def can_device_access_peer(device: Any, peer_device: Any) -> bool:
        return device_number(machine, device) != device_number(machine, peer_device)

    return {
        "is_available": lambda: True,
        "is_initialized": lambda: machine.initialized,
        "is_bf16_supported": lambda including_emulation=True: True,
        "is_tf32_supported": lambda: True,
        "init": machine.touch,
        "_lazy_init": machine.touch,
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
        "default_generators": (torch.default_generator,) * machine.count,
        **dict.fromkeys(("CUDAGraph", "graph", "make_graphed_callables"), no_graphs),
        **_random(machine),
    }


def _random(machine: Machine) -> dict[str, Callable[..., Any]]:
    """Seeds. A simulated device draws from the CPU's generator, so both give the same numbers."""

    def set_rng_state_all(states: Iterable[torch.Tensor]) -> None:
        for state in states:
            torch.default_generator.set_state(state)

    def manual_seed(seed: int) -> None:
        torch.default_generator.manual_seed(int(seed))

    def new_seed() -> None:
        torch.default_generator.seed()

    def get_rng_state(device: Any = "cuda") -> torch.Tensor:
        device_number(machine, device)
        return torch.default_generator.get_state()

    def set_rng_state(new_state: torch.Tensor, device: Any = "cuda") -> None:
        device_number(machine, device)
        torch.default_generator.set_state(new_state)

    return {
        "manual_seed": manual_seed,
        "manual_seed_all": manual_seed,
        "seed": new_seed,
        "seed_all": new_seed,
        "initial_seed": lambda: torch.default_generator.initial_seed(),
        "get_rng_state": get_rng_state,
        "get_rng_state_all": lambda: [get_rng_state(index) for index in range(machine.count)],
        "set_rng_state": set_rng_state,
        "set_rng_state_all": set_rng_state_all,
    }


def tensor_type(machine: Machine, dtype: torch.dtype, name: str) -> type:
    """`torch.cuda.FloatTensor` and its like: makes tensors, and knows them by `isinstance`."""

    class _Type(type):
        def __instancecheck__(cls, value: Any) -> bool:
            is_one = isinstance(value, torch.Tensor) and value.dtype == dtype
            return is_one and index_of(value) >= 0

        def __call__(cls, *args: Any) -> torch.Tensor:
            if len(args) == 1 and not isinstance(args[0], int):
                return torch.tensor(args[0], dtype=dtype, device="cuda")
            return torch.empty(*(args or (0,)), dtype=dtype, device="cuda")

    return _Type(name, (), {"__module__": "torch.cuda", "dtype": dtype})


def no_graphs(*args: Any, **kwargs: Any) -> Any:
    """What stands in for CUDA graphs."""
    raise RuntimeError(
        "A simulated GPU records no CUDA graphs: there is no queue of kernels to record. Run the "
        "steps one by one, or on a machine with a GPU."
    )


def as_it_is(name: str) -> Callable[..., Any]:
    """What stands in for a compiler: the function itself comes back, and a word that says so."""

    def compile_nothing(model: Any = None, *args: Any, **options: Any) -> Any:
        warnings.warn(
            f"The GPU is simulated: {name} gives back your function as it is. What it computes is "
            "the same; how fast a GPU would compute it cannot be seen here.",
            stacklevel=2,
        )
        return (lambda function: function) if model is None else model

    return compile_nothing
