"""What happens where tensors from two places meet: PyTorch's own steps, each checked as CUDA does.

The operation runs on the CPU with a second mode on, below autograd, which sees the primitive
operations that PyTorch breaks it into. `rules.py` says which of them accept what.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from . import composites, rules
from .places import CPU, backward, index_of, move_storage, put_all, storage_of


def run(mode, func: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """Run an operation on tensors from several places; raises what CUDA raises."""
    refuse = composites.CHECKS.get(func)
    if refuse is not None:
        refuse(mode.machine, *args, **kwargs)
    with CheckedSteps(mode, _first_place(args)):
        result = func(*args, **kwargs)
    if func is torch._VF._pad_packed_sequence:
        # The lengths, which PyTorch keeps on the CPU.
        move_storage(storage_of(result[1]), CPU, mode.memories)
    return result


def _first_place(values: Any) -> int:
    return next((index_of(x) for x in tree_leaves(values) if isinstance(x, torch.Tensor)), CPU)


class CheckedSteps(TorchDispatchMode):
    """Checks the places of every primitive operation, runs it, and notes where its result is.

    `home` is the place of the whole operation's first tensor: what PyTorch makes on the way, in the
    likeness of an argument, is in its likeness nearly always.
    """

    def __init__(self, mode, home: int) -> None:
        super().__init__()
        self.mode = mode
        self.home = home

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Or PyTorch would load its compiler, which takes seconds, at the first step checked.
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """One primitive operation."""
        kwargs = kwargs or {}
        places = {index_of(x) for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)}
        if len(places) > 1:
            where = rules.check(self.mode.machine, func, args, kwargs)
        elif places:
            where = places.pop()
        else:
            # A device is given where an argument's options were taken over, and only there.
            where = self.home if kwargs.get("device") is not None else CPU
        result = func(*args, **kwargs)
        if func._schema.name == "aten::_pack_padded_sequence":
            put_all(result[0], where, self.mode.memories)
        elif where >= 0:
            put_all(result, where, self.mode.memories, guess=backward.depth > 0)
        return result
