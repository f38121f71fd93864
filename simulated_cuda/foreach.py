"""Operations on lists of tensors: `torch._foreach_add_`, and the steps of fused optimizers.

If the tensors of a list are on several devices, PyTorch runs the operation once per position of the
lists (`can_use_fast_route` in ATen/native/ForeachUtils.h). Tensors at the same position must be on
the same device.
"""

from __future__ import annotations

from typing import Any

import torch

from .arguments import (
    Argument,
    Rule,
    check_each,
    check_elementwise,
    check_same_device_as_first,
    tensor_arguments,
)  # fmt: skip
from .machine import Machine
from .places import CPU, index_of, set_devices

PREFIX = "_foreach_"
# These run as `clamp_min` or `clamp_max`, whose generated wrapper checks the arguments.
_AS_CLAMP = {"maximum": "min", "minimum": "max", "clamp_min": "min", "clamp_max": "max"}


def check(machine: Machine, func: torch._ops.OpOverload, args: tuple, kwargs: dict) -> int:
    """Check the tensors at each position of the lists; return the first tensor's device."""
    name = func._schema.name.partition("::")[2].removeprefix(PREFIX)
    limit = _AS_CLAMP.get(name.removesuffix("_"))
    values = (*args, *kwargs.values())
    lists = [value for value in values if _is_list_of_tensors(value)]
    single = [value for value in values if isinstance(value, torch.Tensor)]
    for tensors in zip(*lists, strict=False):
        if limit is not None and len(tensors) == 2:
            method = f"clamp_{limit}{'__' if name.endswith('_') else '_'}Tensor"
            check_same_device_as_first(
                machine, method, dict(zip(("self", limit), tensors, strict=True))
            )
        elif name.removesuffix("_") != "copy":
            check_elementwise(machine, [_argument(tensor) for tensor in (*tensors, *single)])
    return index_of(lists[0][0])


def check_fused_step(
    machine: Machine, func: torch._ops.OpOverload, args: tuple, kwargs: dict
) -> int:
    """Check a step of a fused optimizer; a tensor `lr` may be on the CPU (FusedAdamKernel.cu)."""
    arguments = list(tensor_arguments(func, args, kwargs))
    if func._schema.overload_name == "tensor_lr":
        for argument in arguments:
            is_lr_on_cpu = argument.name == "lr" and argument.device_index == CPU
            is_wrong = argument.device_index != arguments[0].device_index and not is_lr_on_cpu
            if argument.name in _STEP_SCALARS and is_wrong:
                raise RuntimeError(f"{argument.name} must be on the same GPU device as the params")
        arguments = [a for a in arguments if a.name not in _STEP_SCALARS]
    return check_each(machine, func, arguments)


_STEP_SCALARS = ("lr", "grad_scale", "found_inf")
RULES: dict[str, Rule] = {
    f"_fused_{optimizer}_": check_fused_step for optimizer in ("adam", "adamw", "sgd", "adagrad")
}


def set_result_devices(results: Any, args: tuple, memories: list[Any]) -> None:
    """Set the device of each result to that of the tensor at the same position."""
    if isinstance(results, list | tuple):
        for result, tensor in zip(results, args[0], strict=False):
            if index_of(tensor) >= 0:
                set_devices(result, index_of(tensor), memories)


def _is_list_of_tensors(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and isinstance(value[0], torch.Tensor)


def _argument(tensor: torch.Tensor) -> Argument:
    return Argument("self", tensor, index_of(tensor), written=False)
