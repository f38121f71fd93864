"""Lab 01, tensors and devices: what its exercises have in common."""

from __future__ import annotations

import torch

from helpers.checks.core import Lab

MOVING = "Moving a tensor"
WAITING = "Hidden waiting"

lab = Lab("01_tensors_and_devices")


def is_tensor(value: object) -> bool:
    """Whether it is one."""
    return isinstance(value, torch.Tensor)
