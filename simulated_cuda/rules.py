"""Which devices each primitive operation accepts on CUDA, and the error it raises otherwise.

A few operations have their own rules in `special_rules`, `indexing_rules`, `convolutions` and
`foreach`. All others use one of the two checks in `arguments`.
"""

from __future__ import annotations

import torch

from . import convolutions, foreach, indexing_rules, special_rules
from .arguments import Rule, check_each, check_elementwise, tensor_arguments
from .machine import Machine
from .operations import ELEMENTWISE, MULTI_DEVICE, NO_CPU_SCALARS

_SPECIAL: dict[str, Rule] = {
    **special_rules.RULES, **indexing_rules.RULES, **convolutions.RULES, **foreach.RULES
}  # fmt: skip


def check(machine: Machine, func: torch._ops.OpOverload, args: tuple, kwargs: dict) -> int:
    """Return the device of the result of a primitive operation on tensors from several devices.

    Raises CUDA's error if the operation does not accept these devices.
    """
    base = func._schema.name.partition("::")[2]
    special = _SPECIAL.get(base)
    if special is not None:
        return special(machine, func, args, kwargs)
    if base.startswith(foreach.PREFIX):
        return foreach.check(machine, func, args, kwargs)
    arguments = list(tensor_arguments(func, args, kwargs))
    if base in MULTI_DEVICE or base.rstrip("_") in MULTI_DEVICE:
        return arguments[0].device_index
    base_name = base.removesuffix("_")
    full_name = (
        f"{base_name}.{func._schema.overload_name}" if func._schema.overload_name else base_name
    )
    if base_name in ELEMENTWISE and full_name not in _CHECKED_OVERLOADS:
        return check_elementwise(machine, arguments, base_name not in NO_CPU_SCALARS)
    return check_each(machine, func, arguments)


# Overloads of element-wise operations that use the generated wrapper.
_CHECKED_OVERLOADS = {
    f"{name}.{overload}" for name in ("clamp", "clamp_min", "clamp_max")
    for overload in ("Tensor", "Tensor_out")
}  # fmt: skip
