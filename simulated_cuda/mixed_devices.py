"""Operations on tensors from several devices, with the same device checks as on CUDA.

PyTorch decomposes each operation into primitive operations. A dispatch mode, below autograd, checks
each of them and runs it on the CPU. `rules.py` defines which devices they accept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from . import composites, cuda_only_errors, foreach, rules
from .places import CPU, index_of, move_storage, set_devices, storage_of, thread


def run(mode, func: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """Run an operation on tensors from several devices, or raise CUDA's error."""
    check = composites.CHECKS.get(func)
    if check is not None:
        check(mode.machine, *args, **kwargs)
    if func in (torch.ctc_loss, torch.nn.functional.ctc_loss):
        args, kwargs = _with_lengths_on_host(args, kwargs)
    try:
        with CheckedSteps(mode, _first_place(args)):
            result = func(*args, **kwargs)
    except (IndexError, RuntimeError) as error:
        cuda_only_errors.explain_failed_index(func, args, error)
        cuda_only_errors.explain_missing_kernel(error)
        raise
    if func is torch._VF._pad_packed_sequence:
        # PyTorch keeps the lengths on the CPU.
        move_storage(storage_of(result[1]), CPU, mode.memories)
    return result


def _with_lengths_on_host(args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return the arguments of `ctc_loss` with its two lengths as numbers.

    PyTorch copies lengths from any device to the host, but not in a dispatch mode.
    """
    names = ("log_probs", "targets", "input_lengths", "target_lengths")
    named = {**dict(zip(names, args, strict=False)), **kwargs}
    lengths = {name: named.get(name) for name in names[2:]}
    if not all(isinstance(length, torch.Tensor) for length in lengths.values()):
        return args, kwargs
    named |= {name: length.tolist() for name, length in lengths.items()}
    return (*(named.pop(name) for name in names), *args[len(names) :]), named


def _first_place(values: Any) -> int:
    return next((index_of(x) for x in tree_leaves(values) if isinstance(x, torch.Tensor)), CPU)


class CheckedSteps(TorchDispatchMode):
    """Checks the devices of every primitive operation, runs it, and sets its result's device.

    `home` is the device of the first tensor argument of the whole operation. PyTorch creates
    intermediate tensors with the options of an argument, nearly always on that device.
    """

    def __init__(self, mode, home: int) -> None:
        super().__init__()
        self.mode = mode
        self.home = home

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Otherwise PyTorch imports its compiler at the first step, which takes seconds.
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Check and run one primitive operation."""
        kwargs = kwargs or {}
        device_indices = {
            index_of(x) for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)
        }
        if len(device_indices) > 1:
            device_index = rules.check(self.mode.machine, func, args, kwargs)
        elif device_indices:
            device_index = device_indices.pop()
        else:
            # PyTorch passes a device only if it creates a tensor with the options of an argument.
            device_index = self.home if kwargs.get("device") is not None else CPU
        result = func(*args, **kwargs)
        if func._schema.name.startswith(f"aten::{foreach.PREFIX}"):
            foreach.set_result_devices(result, args, self.mode.memories)
        elif func._schema.name == "aten::_pack_padded_sequence":
            set_devices(result[0], device_index, self.mode.memories)
        elif device_index >= 0:
            set_devices(result, device_index, self.mode.memories, guess=thread.backward_depth > 0)
        return result
