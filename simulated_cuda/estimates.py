"""What a function would cost on a card: its time, its memory, and what limits it."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from . import messages
from .borrowed import borrowed
from .cards import GIB, Card, find_card
from .clock import Clock, Span
from .machine import Machine
from .memory import DeviceMemory
from .mode import EveryAllocation
from .settings import table
from .timeline import Timeline

# What CUDA's context and the libraries' workspaces take, in addition to tensors.
_CONTEXT_BYTES = GIB // 4
_MEASURED_STEPS = 2


@dataclass(frozen=True)
class Estimate:
    """The modelled cost of one call of a function on a card.

    Attributes:
        card: the card.
        seconds: time per call, when the function is called again and again.
        cpu_seconds: the part of it in which the CPU launches work.
        gpu_seconds: the part of it in which the GPU is busy.
        peak_bytes: largest number of bytes that tensors occupied, with the blocks of the allocator.
        spans: the kernels, copies and waits of one call.
    """

    card: Card
    seconds: float
    cpu_seconds: float
    gpu_seconds: float
    peak_bytes: int
    spans: list[Span]

    @property
    def fits(self) -> bool:
        """Whether the card's memory is large enough."""
        return self.peak_bytes + _CONTEXT_BYTES <= self.card.memory_bytes

    @property
    def waits(self) -> list[Span]:
        """Where the CPU waited for the GPU; `line` is the line of the program."""
        return [span for span in self.spans if span.row == "CPU"]

    @property
    def kernels(self) -> list[Span]:
        """The kernels, in the order of their launches."""
        return [span for span in self.spans if span.work is not None]

    @property
    def flops(self) -> float:
        """Floating-point operations of matrix products, convolutions and attention."""
        return sum(span.work.flops for span in self.kernels)

    @property
    def mfu(self) -> float:
        """Model FLOP/s utilization: the achieved part of the peak of the main precision."""
        if not self.flops:
            return 0.0
        flops = _sums((span.work.precision, span.work.flops) for span in self.kernels)
        peak = 1e12 * self.card.peak_tflops(max(flops, key=flops.get))
        return self.flops / self.seconds / peak

    @property
    def limit(self) -> str:
        """What the time depends on: "launches" (the CPU), "copies", "memory" or "compute"."""
        if self.copy_seconds > max(self.cpu_seconds, self.gpu_seconds):
            return "copies"
        if self.cpu_seconds > self.gpu_seconds:
            return "launches"
        model = Clock(self.card)
        seconds = _sums((model.limit_of(span.work), span.seconds) for span in self.kernels)
        return max(seconds, key=seconds.get, default="launches")

    def most_expensive(self, count: int = 5) -> list[tuple[str, int, float]]:
        """Return name, number of launches and seconds of the operations with the largest sums."""
        counts = Counter(span.name for span in self.kernels)
        seconds = _sums((span.name, span.seconds) for span in self.kernels)
        rows = [(name, number, seconds[name]) for name, number in counts.items()]
        return sorted(rows, key=lambda row: -row[2])[:count]

    @property
    def copy_seconds(self) -> float:
        """The time of the copies in the direction with more of them."""
        copies = (span for span in self.spans if span.row.startswith("copy"))
        return max(_sums((span.row, span.seconds) for span in copies).values(), default=0.0)

    def timeline(self) -> Timeline:
        """Return a picture of the call, for a notebook or for `save("trace.json")`."""
        busy = min(1.0, self.gpu_seconds / self.seconds)
        title = f"{self.card.name}, modelled: the GPU is busy {busy:.0%} of the time"
        if self.limit in ("copies", "launches"):
            title += f"; it waits for {self.limit}"
        elif busy < 0.9 and self.waits:
            title += f"; the CPU waits at {max(self.waits, key=lambda span: span.seconds).line}"
        return Timeline(self.spans, title + ".")

    def __str__(self) -> str:
        return summary(self)


def summary(e: Estimate, what: str = "call") -> str:
    """Return the estimate as text of several lines; `what` is what it is about."""
    card, errors = e.card, table("clock_constants")["errors"]
    factor = max(e.cpu_seconds, e.gpu_seconds) / max(min(e.cpu_seconds, e.gpu_seconds), 1e-9)
    if e.limit == "copies":
        reason = f"copies between the CPU and the GPU, which take {_ms(e.copy_seconds)}"
    elif e.limit == "launches":
        reason = f"the CPU: launching the kernels takes {factor:.1f} times as long as running them"
    else:
        part = "its memory" if e.limit == "memory" else "its arithmetic units"
        reason = f"the GPU, mostly {part}; it works {factor:.1f} times as long as the CPU launches"
    enough = "fits into" if e.fits else "does NOT fit into"
    lines = [
        f"{card.name}, modelled (published measurements of networks differ by "
        f"{errors['networks']:.0%} in the median, see docs/the_clock.md)",
        f"  time      {_ms(e.seconds)} per {what}; limited by {reason}",
        f"  memory    {e.peak_bytes / GIB:.2f} GiB at the peak, which {enough} the "
        f"{card.memory_bytes / GIB:.1f} GiB of the card",
        f"  use       {e.flops / e.seconds / 1e12:.3g} TFLOP/s in products and convolutions, "
        f"{e.mfu:.0%} of the peak (MFU)",
    ]
    column = 1 if e.limit == "launches" else 2  # the number of launches, or the seconds
    rows = sorted(e.most_expensive(len(e.kernels)), key=lambda row: -row[column])
    for name, count, seconds in rows[:5]:
        share = seconds / max(e.gpu_seconds, 1e-12)
        row = f"  kernels   {name}: {count} launches, {_ms(seconds)}, {share:.0%} of the GPU's time"
        lines.append(row)
    counts = Counter((span.line, span.name) for span in e.waits)
    waits = _sums(((span.line, span.name), span.seconds) for span in e.waits)
    for (line, name), seconds in sorted(waits.items(), key=lambda item: -item[1])[:5]:
        row = f"  waits     {line}: {name}, {counts[line, name]} times, {_ms(seconds)} in total"
        lines.append(row)
    return "\n".join(lines)


def _sums(pairs: Iterable[tuple[Any, float]]) -> dict[Any, float]:
    """Return the sum of the values of each key."""
    sums: dict[Any, float] = defaultdict(float)
    for key, value in pairs:
        sums[key] += value
    return sums


def _ms(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def estimate(
    function: Callable[..., Any], *args: Any, gpu: str | Card, launch_us: float | None = None,
    **kwargs: Any,
) -> Estimate:  # fmt: skip
    """Return the modelled cost of `function(*args, **kwargs)` on a card, computing nothing.

    The function is called three times, on tensors that have shapes and no values. Modules, tensors
    and optimizers that it uses, as arguments, attributes or variables, are treated as if they were
    on the GPU, wherever they are; they stay unchanged. What depends on values is assumed: a
    condition is true, a mask selects half of the elements.

    Args:
        function: for example a training step.
        gpu: the name of a card, such as "T4" or "NVIDIA L4", or a `Card`.
        launch_us: microseconds that the CPU takes to launch an operation from Python; by default
            58 next to cards until 2019, and 32 next to newer ones, as published measurements say.

    Raises:
        ValueError: there is no card with this name.
        NotSimulatedError: the function uses something that is not simulated.
    """
    card = find_card(gpu)
    with ExitStack() as stack:
        machine = stack.enter_context(_machine_for(card))
        if launch_us is not None:
            machine.clock.launch_seconds = 1e-6 * launch_us
        args, kwargs = stack.enter_context(borrowed(function, args, kwargs, machine))
        clock, parts = machine.clock, []
        with _explained():
            function(*args, **kwargs)  # creates the states of optimizers, for example
            for _ in range(_MEASURED_STEPS):
                clock.clear()
                start, start_cpu = clock.end, clock.now
                function(*args, **kwargs)
                parts.append(measured(machine, start, start_cpu))
    if not parts[-1].kernels:
        raise ValueError(messages.text("nothing_estimated", function))
    return replace(parts[-1], seconds=sum(part.seconds for part in parts) / len(parts))


def measured(machine: Machine, start: float, start_cpu: float) -> Estimate:
    """Return the cost of what ran since a time; the clock has the spans of this."""
    clock, spans, peaks = machine.clock, machine.clock.spans, []
    for memory in machine.memories:
        memory.collect()
        peaks.append(memory.statistics["reserved_bytes"].peak[2])
    waits = sum(span.seconds for span in spans if span.row == "CPU")
    busy = end = 0.0  # while any stream is busy
    for span in sorted((s for s in spans if s.work is not None), key=lambda s: s.start):
        busy += max(0.0, span.end - max(span.start, end))
        end = max(end, span.end)
    cpu = clock.now - start_cpu - waits
    return Estimate(clock.card, clock.end - start, cpu, busy, max(peaks), spans)


@contextmanager
def _machine_for(card: Card) -> Iterator[Machine]:
    """Simulate one card with unlimited memory that computes nothing; restore what was before."""
    import simulated_cuda

    from . import timed

    current = simulated_cuda._installation()
    if current is None:
        machine = Machine(1, 1 << 60, True, card, computes=False)
        simulated_cuda._install(machine, over_real=True)
        try:
            yield machine
        finally:
            simulated_cuda.disable()
        return
    machine, mode = current.machine, current.mode
    memories = [DeviceMemory(index, 1 << 60) for index in range(len(machine.memories))]
    with ExitStack() as stack:
        if machine.clock is None:
            for timed_mode in timed.modes(machine):
                stack.enter_context(timed_mode)
        replaced = [
            (machine, {"card": card, "clock": Clock(card), "computes": False,
                       "memories": memories, "every_allocation": True}),
            (mode, {"memories": memories, "handlers": mode.handlers | timed.handlers()}),
        ]  # fmt: skip
        modes = (m for m in _get_current_dispatch_mode_stack() if isinstance(m, EveryAllocation))
        replaced += [(every_allocation, {"memories": memories}) for every_allocation in modes]
        for owner, values in replaced:
            stack.enter_context(mock.patch.multiple(owner, **values))
        yield machine


@contextmanager
def _explained() -> Iterator[None]:
    """Run functions without a compiler; add what to do to an error about devices."""
    try:
        # Functions that the program has compiled would try to compile for the GPU.
        has_compiler = "torch._dynamo" in sys.modules
        with torch.compiler.set_stance("force_eager") if has_compiler else nullcontext():
            yield
    except RuntimeError as error:
        if "same device" in str(error) or "_cuda_" in str(error):
            error.add_note(messages.text("estimate_note"))
        raise
