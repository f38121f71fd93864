"""Run student code as if the machine had a given number of GPUs, real or simulated."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import torch

import simulated_cuda
from simulated_cuda.machine import Machine
from simulated_cuda.memory import DeviceMemory


@contextmanager
def machine_for_checks() -> Iterator[None]:
    """Run the block with the machine's real GPUs, or with two simulated GPUs if there are none.

    With a single device, a check could not detect a tensor on the wrong device.
    """
    real = torch.cuda.is_available() and not simulated_cuda.is_enabled()
    if real:
        yield
    else:
        with machine(2):
            yield


@contextmanager
def machine(gpus: int) -> Iterator[None]:
    """Make exactly `gpus` CUDA devices visible in the block.

    They are simulated unless the machine has exactly that many. Tensors created before the block
    stay on their device. Do not use tensors created in the block after it ends.
    """
    if simulated_cuda.is_enabled():
        with _resize_machine(torch._course_simulated_cuda.machine, gpus), _availability(gpus):
            yield
    elif torch.cuda.is_available() and torch.cuda.device_count() == gpus:
        yield
    elif gpus == 0:
        with _availability(0):
            yield
    else:
        with simulated_cuda.simulated(devices=gpus, over_real=True):
            yield


@contextmanager
def _resize_machine(simulated: Machine, gpus: int) -> Iterator[None]:
    """Change the number of devices of the simulated machine without restarting it."""
    before = simulated.count, list(simulated.devices), list(simulated.memories), simulated.current
    # Modify the lists in place, because other objects hold references to them.
    for index in range(len(simulated.devices), gpus):
        simulated.devices.append(torch.device("cuda", index))
        simulated.memories.append(DeviceMemory(index, simulated.total))
    simulated.count = gpus
    simulated.current = min(simulated.current, max(0, gpus - 1))
    try:
        yield
    finally:
        simulated.count, devices, memories, simulated.current = before
        del simulated.devices[len(devices) :], simulated.memories[len(memories) :]


@contextmanager
def _availability(gpus: int) -> Iterator[None]:
    if gpus > 0:
        yield
        return
    with ExitStack() as stack:
        for module in (torch.cuda, torch.accelerator):
            stack.enter_context(patch.object(module, "is_available", lambda: False))
            stack.enter_context(patch.object(module, "device_count", lambda: 0))
        stack.enter_context(
            patch.object(
                torch.accelerator, "current_accelerator", lambda check_available=False: None
            )
        )
        yield
