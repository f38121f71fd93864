"""Running operations on shapes alone, so that a large network needs neither time nor memory.

Tensors stay ordinary CPU tensors, but their memory is never touched, so the system does not provide
any. The meta kernels of PyTorch compute the shapes. What depends on values that do not exist is
assumed: `all` is true, `any` is false, a mask selects half of the elements, torchvision's `nms`
keeps half of the boxes, a number is 1. Operations on the CPU are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from . import messages
from .device_tags import tag_of, thread
from .settings import table

Tensor = torch.Tensor
# Tensors of up to this many elements are computed, so that counters, scales and tables have values.
_SMALL = 4096
_LARGE = 1 << 24
_FALSE = ("isnan", "isinf", "any")
_REAL = frozenset(table("functions")["without_values"])


def _half(*shape: int) -> tuple[int, ...]:
    return (max(1, math.prod(shape) // 2),)


def _unique(x: Tensor, *options: Any, **named: Any) -> tuple[Tensor, Tensor, Tensor]:
    count = _half(*x.shape)
    indices = _empty(x.shape, torch.int64), _empty(count, torch.int64)
    return _empty(count, x.dtype), *indices


def _pack(x: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    one, sizes = torch.ops.aten._pack_padded_sequence(x[..., :1] * 0, lengths, batch_first)
    return _empty((len(one), *x.shape[2:]), x.dtype), sizes


def _ctc(x: Tensor, targets: Tensor, inputs: Any, lengths: Any, *options: Any, **named: Any):
    counts = lengths.tolist() if isinstance(lengths, Tensor) else lengths
    return _empty(x.shape[1], x.dtype), _empty((x.shape[1], len(x), 2 * max(counts) + 1), x.dtype)


# Operations whose result has a shape that depends on values, or that have no meta kernel.
_BY_VALUE: dict[str, Callable[..., Any]] = {
    "nonzero": lambda x: _empty((*_half(*x.shape), x.dim()), torch.int64),
    "masked_select": lambda x, m: _empty(_half(*torch.broadcast_shapes(x.shape, m.shape)), x.dtype),
    "bincount": lambda x, weights=None, minlength=0: (
        _empty((max(minlength, 1),), torch.int64 if weights is None else weights.dtype)
    ),
    "repeat_interleave": lambda repeats, output_size=None: (
        _empty((output_size or 2 * repeats.numel(),), torch.int64)
    ),
    **dict.fromkeys(("_unique2", "unique_dim", "unique_consecutive"), _unique),
    "_pack_padded_sequence": _pack,
    "_pack_padded_sequence_backward": lambda gradient, shape, *_: _empty(shape, gradient.dtype),
    "_ctc_loss": _ctc, "_linalg_check_errors": lambda *args, **named: None,
    "_ctc_loss_backward": lambda gradient, x, *_: torch.empty_like(x),
    "_nested_tensor_from_mask_left_aligned": lambda *args: False,
    "nms": lambda boxes, *_: torch.zeros(_half(len(boxes)), dtype=torch.int64),
}  # fmt: skip


def run(operation: Any, args: tuple, kwargs: dict[str, Any], memories: Sequence[Any]) -> Any:
    """Return what an ATen operation returns, with the right shapes and undefined values.

    It only writes to tensors of the CPU, and small ones that have blocks in `memories`.

    Raises:
        simulated_cuda.messages.NotSimulatedError: PyTorch cannot compute the shape of the result.
    """
    name = operation._schema.name.partition("::")[2]
    tensors = [x for x in torch.utils._pytree.tree_leaves([args, kwargs]) if isinstance(x, Tensor)]
    is_factory = any(argument.name == "device" for argument in operation._schema.arguments)
    tags = [tag_of(x) for x in tensors]
    on_cpu = thread.running < 0 and all(tag.index < 0 for tag in tags)
    limit = _LARGE if on_cpu else _SMALL
    is_kept = any(t.is_protected or (t.index >= 0 and t.memory not in memories) for t in tags)
    is_written = is_kept and operation._schema.is_mutable
    is_small = all(x.numel() <= limit for x in tensors) and not is_written
    if operation.is_view or name in _REAL or (is_small and tensors):
        try:
            return operation(*args, **kwargs)
        except (IndexError, RuntimeError):  # a check of values, such as those of `multinomial`
            if on_cpu or operation.is_view:
                raise
    if name in _BY_VALUE:
        return _BY_VALUE[name](*args, **kwargs)
    if name.startswith("index") and len(args) > 1 and isinstance(args[1], list | tuple):
        args = (args[0], [_as_indices(x, args[0]) for x in args[1]], *args[2:])
    meta = tree_map_only(Tensor, _as_meta, (args, kwargs))
    options = {k: v for k, v in meta[1].items() if k != "pin_memory"}
    if "generator" in options:
        options["generator"] = None
    if is_factory:
        options["device"] = torch.device("meta")
    try:
        results = operation(*meta[0], **options)
    except NotImplementedError as error:
        if not operation._schema.returns:  # it changes its arguments
            return None
        raise messages.not_simulated(
            f"{name} without computing it", "Leave it out of the function that you estimate."
        ) from error
    if results is None:
        return None
    if not tensors and isinstance(results, Tensor) and results.numel() <= limit:
        return operation(*args, **kwargs)
    is_tuple = isinstance(results, tuple)
    items, returned = results if is_tuple else [results], []
    for item, declared in zip(items, operation._schema.returns, strict=is_tuple):
        written = declared.alias_info is not None and declared.alias_info.is_write
        value = _written(operation, declared, args, kwargs) if written else _real(item, name)
        returned.append(value)
    return tuple(returned) if is_tuple else returned[0]


def _written(operation: Any, declared: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Return the argument that an operation in place returns."""
    for position, argument in enumerate(operation._schema.arguments):
        alias = argument.alias_info
        if alias is not None and alias.before_set == declared.alias_info.before_set:
            return args[position] if position < len(args) else kwargs[argument.name]
    raise AssertionError(operation)


def _as_indices(index: Tensor | None, indexed: Tensor) -> Tensor | None:
    """Replace a mask by as many indices as it probably selects."""
    if index is None or index.dtype not in (torch.bool, torch.uint8):
        return index
    return _empty(_half(*index.shape), torch.int64)


def _as_meta(tensor: Tensor) -> Tensor:
    return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")


def _real(value: Any, name: str) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_real(item, name) for item in value)
    if not isinstance(value, Tensor):
        return value
    result = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype)
    if result.numel() <= _SMALL:
        result.fill_(name not in _FALSE)
    return result


def _empty(shape: Any, dtype: torch.dtype) -> Tensor:
    return torch.empty(shape, dtype=dtype)
