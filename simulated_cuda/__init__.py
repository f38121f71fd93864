"""A simulated CUDA device for machines without a GPU.

`device="cuda"` works, and mistakes raise the errors that CUDA raises. Everything is computed on the
CPU: what is simulated is where tensors are. Tensors report their device, mixed devices raise CUDA's
errors, and memory fills up. Timings mean nothing on it.

    import simulated_cuda
    simulated_cuda.enable()

or, without a change to the program, `python -m simulated_cuda script.py` and
`pytest --simulated-cuda`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .settings import GIB, NAME

if TYPE_CHECKING:
    from .installation import Installation

__all__ = ["NAME", "disable", "enable", "is_enabled", "simulated"]

# Stored on torch, not in this module, so that it is found again after this module is reloaded.
_KEPT_ON_TORCH = "_course_simulated_cuda"
# The versions whose device checks and messages were compared with the simulation.
TESTED_TORCH = ("2.11", "2.13", "2.14")


def _installation() -> Installation | None:
    # Without torch nothing is installed, and importing torch takes seconds.
    return getattr(sys.modules.get("torch"), _KEPT_ON_TORCH, None)


def enable(
    devices: int = 1,
    memory: int = 8 * GIB,
    *,
    over_real: bool = False,
    every_allocation: bool = False,
) -> None:
    """Simulate CUDA devices from now on, in this thread and in threads that start later.

    Calling it again with the same arguments does nothing. Calling it with other arguments starts
    over: tensors created before are then on the CPU.

    Args:
        devices: number of devices.
        memory: memory of each device, in bytes.
        over_real: simulate even if there is a real CUDA device, which is then not used.
        every_allocation: count also the memory of tensors that exist only inside operations and
            backward passes of this thread. Peaks are then those of CUDA's allocator, without the
            workspaces of its libraries, and each operation takes longer.

    Raises:
        RuntimeError: if there is a real CUDA device and `over_real` is not set.
        ValueError: if `devices` or `memory` is less than one.
    """
    import torch

    from .installation import Installation
    from .machine import Machine

    machine = Machine(devices, memory, every_allocation)
    installed = _installation()
    if installed is not None:
        machine_before = installed.machine
        before = (machine_before.count, machine_before.total, machine_before.every_allocation)
        if before == (devices, memory, every_allocation):
            return
        disable()
    if torch.cuda.is_available() and not over_real:
        raise RuntimeError(
            f"This machine has a real GPU, {torch.cuda.get_device_name(0)}, and the simulated GPU "
            "is off by default here. To use the simulated GPU anyway, call "
            "simulated_cuda.enable(over_real=True), or hide the real GPU with the environment "
            'variable CUDA_VISIBLE_DEVICES="".'
        )
    version = ".".join(torch.__version__.split(".")[:2])
    if version not in TESTED_TORCH:
        warnings.warn(
            f"The simulated GPU was tested with torch {', '.join(TESTED_TORCH)}; this is torch "
            f"{torch.__version__}. Some device checks and messages may differ from CUDA's.",
            stacklevel=2,
        )
    installation = Installation(machine)
    installation.install()
    setattr(torch, _KEPT_ON_TORCH, installation)


def disable() -> None:
    """Stop simulating and restore PyTorch; tensors created during the simulation are on the CPU."""
    installed = _installation()
    if installed is not None:
        delattr(sys.modules["torch"], _KEPT_ON_TORCH)
        installed.uninstall()


def is_enabled() -> bool:
    """Return whether CUDA devices are being simulated."""
    return _installation() is not None


@contextmanager
def simulated(
    devices: int = 1,
    memory: int = 8 * GIB,
    *,
    over_real: bool = False,
    every_allocation: bool = False,
) -> Iterator[None]:
    """Simulate CUDA devices inside a `with` block; for the arguments see `enable`."""
    enable(devices, memory, over_real=over_real, every_allocation=every_allocation)
    try:
        yield
    finally:
        disable()
