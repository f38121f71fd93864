"""Random numbers: each simulated device has its own generator, with the same seeding as on CUDA.

A generator returns the same numbers as the CPU's generator with that seed, not those of a real GPU.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from . import settings
from .device_tags import CPU, device_at, functions_named
from .machine import Machine

_RealGenerator = torch.Generator

FACTORIES = functions_named(settings.table("functions")["random_factories"])


class SimulatedGenerator(_RealGenerator):
    """A CPU generator that reports a simulated device."""

    device: Any = torch.device("cuda", 0)


def default_generators(machine: Machine) -> tuple[SimulatedGenerator, ...]:
    """Return each visible device's default generator; it is created with the current seed."""
    for index in range(len(machine.generators), machine.count):
        generator = SimulatedGenerator()
        generator.device = device_at(index)
        generator.manual_seed(torch.default_generator.initial_seed())
        machine.generators.append(generator)
    return tuple(machine.generators[: machine.count])


@contextmanager
def use_default_generator(machine: Machine, device_index: int) -> Iterator[None]:
    """Use the default generator of this device instead of the CPU's inside a `with` block."""
    default_generators(machine)
    cpu, own = torch.default_generator, machine.generators[device_index]
    before = cpu.get_state()
    cpu.set_state(own.get_state())
    try:
        yield
    finally:
        own.set_state(cpu.get_state())
        cpu.set_state(before)


def device_handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return the handlers for random operations on a simulated device."""
    return dict.fromkeys(functions_named(settings.table("functions")["random"]), _draw)


def _draw(mode, func, args, kwargs, device_index):
    if kwargs.get("generator") is not None:
        return mode.run(func, args, kwargs, device_index)
    with use_default_generator(mode.machine, device_index):
        return mode.run(func, args, kwargs, device_index)


class _Factory(type):
    """Implements `torch.Generator(...)` and `isinstance(x, torch.Generator)`."""

    machine: Machine

    def __call__(cls, device: Any = "cpu") -> torch.Generator:
        device_index = cls.machine.resolve(device)
        if device_index is None or device_index == CPU:
            return _RealGenerator(device)
        generator = SimulatedGenerator()
        # In PyTorch, the device of a generator created with "cuda" has no index.
        generator.device = (
            torch.device(device) if isinstance(device, str) else device_at(device_index)
        )
        return generator

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, _RealGenerator)


def generator_class(machine: Machine) -> type:
    """Return the replacement for `torch.Generator`."""
    return _Factory("Generator", (), {"__module__": "torch", "machine": machine})


def replacements(machine: Machine) -> dict[str, Any]:
    """Return the replacements for seed and generator functions of `torch.cuda`, by name."""

    def generator_of(device: Any = None) -> SimulatedGenerator:
        return default_generators(machine)[machine.resolve_gpu(device)]

    def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
        for generator, state in zip(default_generators(machine), new_states, strict=False):
            generator.set_state(state)

    def manual_seed(seed: int) -> None:
        generator_of().manual_seed(int(seed))

    def manual_seed_all(seed: int) -> None:
        for generator in default_generators(machine):
            generator.manual_seed(int(seed))

    def set_rng_state(new_state: torch.Tensor, device: Any = None) -> None:
        generator_of(device).set_state(new_state)

    return {
        "default_generators": default_generators(machine),
        "manual_seed": manual_seed,
        "manual_seed_all": manual_seed_all,
        "seed": lambda: generator_of().seed(),
        "seed_all": lambda: manual_seed_all(_RealGenerator().seed()),
        "initial_seed": lambda: generator_of().initial_seed(),
        "get_rng_state": lambda device=None: generator_of(device).get_state(),
        "get_rng_state_all": lambda: [g.get_state() for g in default_generators(machine)],
        "set_rng_state": set_rng_state,
        "set_rng_state_all": set_rng_state_all,
    }
