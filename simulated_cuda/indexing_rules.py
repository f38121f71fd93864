"""Rules for operations that read or write elements at indices or where a mask is True.

Each rule returns the index of the result's device or raises CUDA's error.
"""

from __future__ import annotations

from functools import partial

from .arguments import Rule, add_rule, check_same_device_as_first, two_devices
from .places import CPU, index_of

RULES: dict[str, Rule] = {}
_rule = partial(add_rule, RULES)


@_rule("index", "_unsafe_index")
def _index(machine, func, args, kwargs):
    """Indices may be on the CPU."""
    source = index_of(args[0])
    for index in args[1]:
        if index is not None and index_of(index) not in (CPU, source):
            raise RuntimeError(
                "indices should be either on cpu or on the same device as the indexed tensor "
                f"({machine.name(source)})"
            )
    return source


@_rule("index_put", "index_put_", "_unsafe_index_put", "_index_put_impl_")
def _index_put(machine, func, args, kwargs):
    """Values must be on the tensor's device or be a CPU scalar; indices may be on any device."""
    source, values = index_of(args[0]), args[2]
    if index_of(values) != source and not (index_of(values) == CPU and values.dim() == 0):
        raise two_devices(machine, source, index_of(values))
    return source


@_rule("index_fill", "index_fill_")
def _index_fill(machine, func, args, kwargs):
    """The index must be on the tensor's device. The value is not checked: it becomes a number."""
    device_indices = index_of(args[0]), index_of(args[2])
    if device_indices[0] != device_indices[1]:
        raise two_devices(machine, *device_indices)
    return device_indices[0]


@_rule("masked_fill", "masked_fill_")
def _masked_fill(machine, func, args, kwargs):
    """The mask must be on the tensor's device; the value may be a CPU scalar."""
    source, mask = index_of(args[0]), index_of(args[1])
    if source == CPU and func._schema.overload_name == "Tensor":
        raise RuntimeError("masked_fill_: Expected inputs to be on same device")
    if source != mask:
        raise RuntimeError(
            "expected self and mask to be on the same device, but got mask on "
            f"{machine.name(mask)} and self on {machine.name(source)}"
        )
    return source


@_rule("_unsafe_masked_index")
def _masked_index(machine, func, args, kwargs):
    """Runs as `index` followed by `masked_fill`."""
    _index(machine, func, (args[0], args[2]), kwargs)
    return _masked_fill(machine, func, args[:2], kwargs)


@_rule("_unsafe_masked_index_put_accumulate")
def _masked_index_put(machine, func, args, kwargs):
    """Runs as `masked_fill` of the values, then an accumulating `index_put` (no CPU scalars)."""
    values = _masked_fill(machine, func, (args[3], args[1]), kwargs)
    source = index_of(args[0])
    if values == CPU != source:
        raise RuntimeError(
            f"expected device {machine.name(source)} but got device cpu for value tensor"
        )
    if values != source:
        raise two_devices(machine, source, values)
    return source


@_rule("masked_scatter")
def _masked_scatter(machine, func, args, kwargs):
    """Runs as `masked_scatter_` on a copy."""
    names = ("self", "mask", "source")
    return check_same_device_as_first(
        machine, "_masked_scatter_", dict(zip(names, args, strict=False))
    )


@_rule("put")
def _put(machine, func, args, kwargs):
    """Runs as `put_` on a copy."""
    names = ("self", "index", "source")
    return check_same_device_as_first(machine, "_put_", dict(zip(names, args, strict=False)))
