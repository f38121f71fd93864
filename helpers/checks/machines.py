"""Run student code as if the machine had a given number of GPUs, real or simulated."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

import simulated_cuda


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
    with simulated_cuda.visible_devices(gpus):
        yield
