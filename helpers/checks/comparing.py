"""Compare the devices and the values of tensors and modules."""

import copy
from typing import Any

import torch
from torch import Tensor, nn


def is_tensor(value: object) -> bool:
    """Return whether a value is a tensor."""
    return isinstance(value, Tensor)


def copy_to(value: Any, device: torch.device) -> Any:
    """Return a copy of a tensor or module on `device`."""
    return copy.deepcopy(value).to(device)


def device_of(value: Any) -> torch.device:
    """Return the device of a tensor, or of a module's first parameter."""
    return next(value.parameters()).device if isinstance(value, nn.Module) else value.device


def find_devices(net: nn.Module) -> set[torch.device]:
    """Return the devices of a network's parameters."""
    return {parameter.device for parameter in net.parameters()}


def equal_values(first: Any, second: Any) -> bool:
    """Return whether two tensors or modules have exactly equal values, on any devices."""
    if isinstance(first, nn.Module):
        pairs = zip(first.state_dict().values(), second.state_dict().values(), strict=True)
        return all(equal_values(*pair) for pair in pairs)
    return torch.equal(first.cpu(), second.cpu())


def close(first: Tensor, second: Tensor) -> bool:
    """Return whether two tensors are equal, up to numerical differences between devices."""
    # A GPU may round the inputs of a matrix product (TF32) and may sum in a different order.
    return torch.allclose(first.detach().cpu(), second.detach().cpu(), rtol=1e-2, atol=1e-2)


def same_weights(first: nn.Module, second: nn.Module) -> bool:
    """Return whether two networks have equal weights, up to differences between devices."""
    pairs = zip(first.parameters(), second.parameters(), strict=False)
    return all(torch.allclose(a.cpu(), b.cpu(), rtol=1e-3, atol=2e-4) for a, b in pairs)
