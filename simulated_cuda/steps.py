"""The cost of a training step of a program that runs with a clock."""

from __future__ import annotations

import statistics
from collections import deque
from dataclasses import replace
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from .estimates import Estimate, measured
from .machine import Machine
from .messages import text

_KEPT = 3  # steps whose spans are kept
_MAX_SPANS = 100_000


class Steps:
    """Divides a program's time into its first optimizer's steps; ends it after `last` steps."""

    def __init__(self, machine: Machine, last: int | None = None) -> None:
        self._machine, self._last = machine, last
        self._clock = machine.clock
        self._clock.on_overflow, self._clock.max_spans = self._begin, _MAX_SPANS
        self._optimizer: Any = None
        self.seconds: list[float] = []
        self.kept: deque[Estimate] = deque(maxlen=_KEPT)
        self._is_cut = False
        self._start = self._start_cpu = 0.0
        self._hook = register_optimizer_step_post_hook(self._note_step)
        self._backward, self._passes = torch.autograd.backward, 0
        torch.autograd.backward = self._note_backward

    def _note_step(self, optimizer: Any, args: tuple, kwargs: dict) -> None:
        self._optimizer = self._optimizer or optimizer
        if optimizer is self._optimizer:
            self.kept.append(self._part())
            self.seconds.append(self.kept[-1].seconds)
            self._begin()
            self._is_cut = False
            if len(self.seconds) == self._last:
                raise SystemExit(0)

    def _note_backward(self, *args: Any, **kwargs: Any) -> None:
        self._backward(*args, **kwargs)
        self._passes += not self._optimizer
        if self._last and self._passes > 10 * self._last:
            raise SystemExit(text("no_steps", self._passes))

    def _begin(self) -> None:
        """Forget earlier spans: a program may run many more operations than fit into memory."""
        clock = self._clock
        self._is_cut = True
        clock.clear()
        self._start, self._start_cpu = clock.end, clock.now

    def _part(self) -> Estimate:
        return measured(self._machine, self._start, self._start_cpu)

    def finish(self) -> tuple[Estimate | None, str]:
        """Stop; return the estimate of one step, None if nothing ran, and what it is about."""
        self._hook.remove()
        torch.autograd.backward = self._backward
        if self.seconds:
            # The first steps create the states of optimizers, and fill the queues.
            later = self.seconds[min(2, len(self.seconds) - 1) :]
            seconds = statistics.median(later)
            part = min(self.kept, key=lambda kept: abs(kept.seconds - seconds))
            part = replace(part, seconds=seconds, peak_bytes=self._part().peak_bytes)
            what = f"step (median of {len(later)})" if len(later) > 1 else "step"
        else:
            part = self._part()
            what = f"the last {len(part.spans):,} operations" if self._is_cut else "program"
        return (part if part.kernels else None), what
