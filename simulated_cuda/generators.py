"""`torch.Generator(device="cuda")`: a generator of the CPU that says it is on the device."""

from __future__ import annotations

from typing import Any

import torch

from .machine import Machine
from .places import CPU

_RealGenerator = torch.Generator


class SimulatedGenerator(_RealGenerator):
    """Draws on the CPU; where it is asked, it is on a simulated device."""

    device: Any = torch.device("cuda", 0)

    def graphsafe_get_state(self) -> torch.Generator:
        """A copy in the same state."""
        return self.clone_state()

    def clone_state(self) -> torch.Generator:
        """A copy in the same state, on the same device."""
        copy = SimulatedGenerator()
        copy.device = self.device
        copy.set_state(self.get_state())
        return copy


class _Factory(type):
    """Makes `torch.Generator(...)` go on working, for calls and for `isinstance`."""

    machine: Machine

    def __call__(cls, device: Any = "cpu") -> torch.Generator:
        where = cls.machine.resolve(device)
        if where is None or where == CPU:
            return _RealGenerator(device)
        generator = SimulatedGenerator()
        # PyTorch gives a generator of the current device no number.
        generator.device = (
            torch.device(device) if isinstance(device, str) else cls.machine.name(where)
        )
        return generator

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, _RealGenerator)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _RealGenerator)


def replacement(machine: Machine) -> type:
    """What takes the place of `torch.Generator`."""
    return _Factory("Generator", (), {"__module__": "torch", "machine": machine})
