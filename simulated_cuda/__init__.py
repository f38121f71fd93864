"""A CUDA device to practice on where there is none: `device="cuda"` works, and mistakes fail truly.

Everything is computed on the CPU. What is simulated is where things are: tensors name their device,
mixing devices raises what CUDA raises, memory fills up. Nothing should be timed on it.

    import simulated_cuda
    simulated_cuda.enable()
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from .cuda_api import NAME
from .installation import Installation
from .machine import GIB, Machine

__all__ = ["NAME", "disable", "enable", "is_enabled", "simulated"]

# On torch and not here: the one there is must be found again after a reload of this module.
_KEPT_ON_TORCH = "_course_simulated_cuda"


def _installation() -> Installation | None:
    return getattr(torch, _KEPT_ON_TORCH, None)


def enable(devices: int = 1, memory: int = 8 * GIB, *, over_real: bool = False) -> None:
    """Simulate CUDA devices from here on, in this thread and those that start later.

    Called again with the same arguments it does nothing; with others, it starts afresh, and
    tensors made before are on the CPU.

    Args:
        devices: how many devices there are.
        memory: of each device, in bytes.
        over_real: simulate even where there is a real CUDA device, which is then not used.

    Raises:
        RuntimeError: there is a real CUDA device and `over_real` is not set.
        ValueError: `devices` or `memory` is less than one.
    """
    machine = Machine(devices, memory)
    installed = _installation()
    if installed is not None:
        if (installed.machine.count, installed.machine.total) == (devices, memory):
            return
        disable()
    if torch.cuda.is_available() and not over_real:
        raise RuntimeError(
            f"This machine has a real GPU, {torch.cuda.get_device_name(0)}: use that. To practice "
            "on a simulated one all the same, call simulated_cuda.enable(over_real=True)."
        )
    installation = Installation(machine)
    installation.put_in()
    setattr(torch, _KEPT_ON_TORCH, installation)


def disable() -> None:
    """End the simulation and leave PyTorch as it was; tensors made meanwhile are on the CPU."""
    installed = _installation()
    if installed is not None:
        delattr(torch, _KEPT_ON_TORCH)
        installed.take_out()


def is_enabled() -> bool:
    """Whether CUDA devices are being simulated."""
    return _installation() is not None


@contextmanager
def simulated(
    devices: int = 1, memory: int = 8 * GIB, *, over_real: bool = False
) -> Iterator[None]:
    """`with simulated_cuda.simulated():` for `enable` and `disable`; see `enable`."""
    enable(devices, memory, over_real=over_real)
    try:
        yield
    finally:
        disable()
