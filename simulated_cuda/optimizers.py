"""Wrappers that make optimizers faster by bypassing the mode.

PyTorch calls the mode for every access to an attribute of a tensor. In a small network, most calls
in a training step come from optimizers, which collect parameters and gradients in lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from .gradients import set_device_of_gradient
from .places import PLAIN, index_of

_grad = torch.Tensor.grad.__get__


def classes() -> list[type[torch.optim.Optimizer]]:
    """Return PyTorch's optimizers that collect parameters and gradients in `_init_group`."""
    return [value for value in vars(torch.optim).values() if "_init_group" in _attributes(value)]


def _attributes(value: object) -> Iterable[str]:
    return vars(value) if isinstance(value, type) else ()


def wrap_init_group(mode, init_group: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `_init_group` to set the devices of all gradients, then collect them without the mode.

    The first step runs with the mode, because it creates the optimizer's state.
    """

    def collect(optimizer: torch.optim.Optimizer, group: dict[str, Any], *lists: Any) -> Any:
        with torch._C.DisableTorchFunction():
            if _set_gradient_devices(mode, optimizer, group["params"]):
                return init_group(optimizer, group, *lists)
        return init_group(optimizer, group, *lists)

    return collect


def _set_gradient_devices(
    mode, optimizer: torch.optim.Optimizer, parameters: Iterable[Any]
) -> bool:
    """Set the devices of gradients; return whether `_init_group` can run without the mode.

    It can if the parameters are plain tensors and it will not create any tensors.
    """
    # SGD creates its state later, in the step itself.
    stateless = type(optimizer) is torch.optim.SGD
    for parameter in parameters:
        if type(parameter) not in PLAIN:
            return False
        gradient = _grad(parameter)
        if gradient is None:
            continue
        if not (stateless or optimizer.state.get(parameter)):
            return False
        set_device_of_gradient(mode, gradient, index_of(parameter))
    return True


def wrap_implementation_choice(
    choose: Callable[..., tuple[bool, bool]],
) -> Callable[..., tuple[bool, bool]]:
    """Wrap PyTorch's choice of an optimizer implementation to check only one parameter.

    PyTorch reads the device of every parameter. If all are plain tensors on a GPU, the result for
    the first one applies to all, unless the dtypes matter.
    """

    def choose_for_first(
        params: list[Any], differentiable: bool, use_fused: bool = False
    ) -> tuple[bool, bool]:
        if not use_fused:
            with torch._C.DisableTorchFunction():
                if all(type(value) in PLAIN and index_of(value) >= 0 for value in params):
                    params = params[:1]
        return choose(params, differentiable, use_fused)

    return choose_for_first


def wrap_zero_grad(zero_grad: Callable[..., None]) -> Callable[..., None]:
    """Wrap `Optimizer.zero_grad` to bypass the mode: it neither moves nor creates tensors."""

    def clear(optimizer: torch.optim.Optimizer, set_to_none: bool = True) -> None:
        groups = optimizer.param_groups
        if all(type(parameter) in PLAIN for group in groups for parameter in group["params"]):
            with torch._C.DisableTorchFunction():
                return zero_grad(optimizer, set_to_none)
        return zero_grad(optimizer, set_to_none)

    return clear
