"""A simulated CUDA device for machines without a GPU.

`device="cuda"` works, and mistakes raise the same errors as on CUDA. All operations run on the CPU.

    import simulated_cuda
    simulated_cuda.enable()

To simulate a GPU without changing the program, run `python -m simulated_cuda script.py` or
`pytest --simulated-cuda`.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .cards import Card, find_card
from .settings import GIB, NAME

if TYPE_CHECKING:
    from .estimates import Estimate
    from .installation import Installation
    from .machine import Machine
    from .waits import Waits

__all__ = [
    "NAME", "Card", "count_waits", "disable", "enable", "estimate", "is_enabled", "simulated",
    "visible_devices",
]  # fmt: skip

# An attribute of torch, not of this module, so that the installation survives a module reload.
_INSTALLATION_ATTRIBUTE = "_course_simulated_cuda"
# Versions of PyTorch whose device checks and messages were compared with the simulation's.
TESTED_TORCH = ("2.11", "2.12", "2.13", "2.14", "2.15")


def _installation() -> Installation | None:
    # Do not import torch, which takes seconds: without it, nothing is installed.
    return getattr(sys.modules.get("torch"), _INSTALLATION_ATTRIBUTE, None)


def enable(
    devices: int = 1, memory: int | None = None, *, gpu: str | Card | None = None,
    over_real: bool = False, every_allocation: bool = False,
) -> None:  # fmt: skip
    """Simulate CUDA devices in this thread and in threads that start later.

    A second call with the same arguments does nothing. A call with other arguments starts a new
    simulation and moves existing tensors to the CPU.

    Args:
        devices: number of devices.
        memory: memory of each device, in bytes; by default that of `gpu`, or 8 GiB.
        gpu: the card to simulate, such as "T4" or "H100": its properties, and a clock that models
            its time. Each operation takes longer.
        over_real: simulate even if there is a real CUDA device. The real device is not used.
        every_allocation: also count the memory of tensors that exist only inside operations and
            backward passes of this thread. Peaks then match those of CUDA's allocator, except for
            library workspaces. Each operation takes longer.

    Raises:
        RuntimeError: if there is a real CUDA device and `over_real` is not set.
        ValueError: if `devices` or `memory` is less than one, or no card has this name.
    """
    # Importing torch first: in a child process, its import starts the simulation.
    importlib.import_module("torch")
    from .machine import Machine

    card = None if gpu is None else find_card(gpu)
    if memory is None:
        memory = 8 * GIB if card is None else card.memory_bytes
    _install(Machine(devices, memory, every_allocation, card), over_real)


def _install(machine: Machine, over_real: bool) -> None:
    import torch

    from . import messages
    from .installation import Installation

    current = _installation()
    if current is not None:
        if current.machine.arguments == machine.arguments:
            return
        disable()
    if torch.cuda.is_available() and not over_real:
        raise RuntimeError(messages.text("real_gpu", torch.cuda.get_device_name(0)))
    version = ".".join(torch.__version__.split(".")[:2])
    if version not in TESTED_TORCH:
        values = ", ".join(TESTED_TORCH), torch.__version__
        warnings.warn(messages.text("untested_version", *values), stacklevel=2)
    installation = Installation(machine)
    installation.install()
    setattr(torch, _INSTALLATION_ATTRIBUTE, installation)


def disable() -> None:
    """Stop the simulation, restore PyTorch, and move tensors on simulated devices to the CPU."""
    current = _installation()
    if current is not None:
        delattr(sys.modules["torch"], _INSTALLATION_ATTRIBUTE)
        current.uninstall()


def is_enabled() -> bool:
    """Return whether CUDA devices are being simulated."""
    return _installation() is not None


@contextmanager
def simulated(
    devices: int = 1, memory: int | None = None, *, gpu: str | Card | None = None,
    over_real: bool = False, every_allocation: bool = False,
) -> Iterator[None]:  # fmt: skip
    """Simulate CUDA devices inside a `with` block, as `enable` does; then restore outer ones."""
    outer = _installation()
    enable(devices, memory, gpu=gpu, over_real=over_real, every_allocation=every_allocation)
    try:
        yield
    finally:
        if outer is None:
            disable()
        else:
            _install(type(outer.machine)(*outer.machine.arguments), over_real=True)


def estimate(
    function: Callable[..., Any], *args: Any, gpu: str | Card, launch_us: float | None = None,
    **kwargs: Any,
) -> Estimate:  # fmt: skip
    """Return the modelled time and memory of `function(*args, **kwargs)` on a card.

    Nothing is computed. See `simulated_cuda.estimates.estimate` for the arguments and the errors.
    """
    from .estimates import estimate

    return estimate(function, *args, gpu=gpu, launch_us=launch_us, **kwargs)


def count_waits() -> Waits:
    """Return a context manager that records where the CPU waits for a GPU, simulated or real.

    It counts what CUDA's debug mode reports (`torch.cuda.set_sync_debug_mode`) in this thread:

        with simulated_cuda.count_waits() as counter:
            loss.item()
        print(len(counter), *counter.waits)  # the operation, the file and the line of each
    """
    from .waits import Waits

    return Waits()


@contextmanager
def visible_devices(count: int) -> Iterator[None]:
    """Make exactly `count` CUDA devices visible inside a `with` block; 0 hides all devices.

    If a simulation is active, its number of devices changes, and tensors that were created before
    the block stay on their device. Otherwise, the devices are simulated, unless the machine has
    exactly `count` real ones. Do not use tensors created in the block after it ends.
    """
    from unittest import mock

    import torch

    current = _installation()
    with contextlib.ExitStack() as stack:
        if current is not None:
            stack.enter_context(current.machine.resized(count))
        elif count == 0:
            for api in (torch.cuda, torch.accelerator):
                stack.enter_context(mock.patch.multiple(api, is_available=bool, device_count=int))
            none = mock.Mock(return_value=None)
            stack.enter_context(mock.patch.object(torch.accelerator, "current_accelerator", none))
        elif not (torch.cuda.is_available() and torch.cuda.device_count() == count):
            stack.enter_context(simulated(count, over_real=True))
        yield
