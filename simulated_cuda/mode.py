"""The mode that sees every operation: runs it on the CPU, and keeps track of where its result is.

Operations whose tensors are all in one place, nearly all of them, take the short way here. Where
tensors from two places meet, `checks.py` decides as CUDA would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from . import autocast, checks, factories, gradients, looking, messages, moving, tracebacks
from .machine import Machine
from .places import CPU, PLAIN, UNKNOWN, backward, place_of, put_all, storage_of

Handler = Callable[["SimulatedCUDA", Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]

# Results of looking through an operation's arguments, besides the number of a device.
_NO_TENSOR = -2
_MIXED = -3


class SimulatedCUDA(TorchFunctionMode):
    """Plays a CUDA device: knows the place of every tensor and checks places as CUDA does."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine = machine
        self.memories = machine.memories
        # The place of the operation that is running, for hooks that PyTorch calls in its midst.
        self.running = CPU
        self.handlers: dict[Callable[..., Any], Handler] = {
            **factories.handlers(),
            **moving.handlers(),
            **looking.handlers(),
            **gradients.handlers(),
        }

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Run one operation; raises what CUDA raises, without frames of the simulator."""
        try:
            handler = self.handlers.get(func)
            if handler is not None:
                return handler(self, func, args, kwargs or {})
            if kwargs:
                if "device" in kwargs:
                    return factories.make(self, func, args, kwargs)
                where = _common_place((*args, *kwargs.values()))
                if kwargs.get("generator") is not None:
                    factories.check_generator(kwargs["generator"], where)
            else:
                kwargs = {}
                where = _common_place(args)
            if where == CPU:
                return func(*args, **kwargs)
            return self.run(func, args, kwargs, where)
        except Exception as error:
            # Raised again like this, Python does not add this frame either.
            error.__traceback__ = tracebacks.without_simulator(error.__traceback__)
            raise

    def run(self, func: Callable[..., Any], args: tuple, kwargs: dict, where: int) -> Any:
        """Run an operation whose tensors' common place is `where`, and note where its result is."""
        if where >= 0:
            if self.machine.forked:
                raise messages.initialization_error()
            if autocast.state.used and torch.is_autocast_enabled("cuda"):
                return autocast.run(self, func, args, kwargs, where)
            self.running = where
            try:
                result = func(*args, **kwargs)
            except RuntimeError as error:
                self.memories[where].explain_failed_allocation(error)
                raise
            finally:
                self.running = CPU
            if type(result) is torch.Tensor:
                # The common case of `put`, spelled out: this runs once for every operation.
                try:
                    if storage_of(result).place is not UNKNOWN:
                        return result
                except (NotImplementedError, RuntimeError):
                    pass
            put_all(result, where, self.memories, guess=backward.depth > 0)
            return result
        if where == _MIXED:
            return checks.run(self, func, args, kwargs)
        return func(*args, **kwargs)


def _common_place(values: Any) -> int:
    """The place that all tensors among `values` share, `_NO_TENSOR` or `_MIXED`."""
    common = _NO_TENSOR
    for value in values:
        if isinstance(value, torch.Tensor):
            try:
                place = storage_of(value).place if type(value) in PLAIN else place_of(value)
            except (NotImplementedError, RuntimeError):
                place = place_of(value)
            where = place.index
        elif value.__class__ is list or value.__class__ is tuple:
            where = _common_place(value)
            if where == _NO_TENSOR:
                continue
        else:
            continue
        if common == _NO_TENSOR:
            common = where
        elif where != common:
            return _MIXED
    return common
