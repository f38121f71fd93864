"""What a function would cost on a card: its time, its memory, and what limits it."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils._pytree import tree_map_only

from .cards import GIB, Card, find_card
from .clock import Clock, Span
from .device_tags import UNKNOWN, DeviceTag, storage_of
from .kernel_time import load_constants
from .machine import Machine
from .memory import DeviceMemory

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
        """Model FLOP/s utilization: the achieved part of the card's peak, from 0 to 1.

        The peak is that of the precision in which most of the arithmetic is done.
        """
        flops: dict[str, float] = defaultdict(float)
        for span in self.kernels:
            flops[span.work.precision] += span.work.flops
        if not self.flops:
            return 0.0
        peak = 1e12 * self.card.peak_tflops(max(flops, key=flops.get))
        return self.flops / self.seconds / peak

    @property
    def limit(self) -> str:
        """What the time depends on: "launches" (the CPU), "memory" or "compute" (the GPU)."""
        if self.cpu_seconds > self.gpu_seconds:
            return "launches"
        seconds: dict[str, float] = defaultdict(float)
        model = Clock(self.card)
        for span in self.kernels:
            seconds[model.limit_of(span.work)] += span.seconds
        return max(seconds, key=seconds.get, default="launches")

    def most_expensive(self, count: int = 5) -> list[tuple[str, int, float]]:
        """Return name, number of launches and seconds of the operations with the largest sums."""
        totals: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
        for span in self.kernels:
            totals[span.name][0] += 1
            totals[span.name][1] += span.seconds
        rows = [(name, int(number), seconds) for name, (number, seconds) in totals.items()]
        return sorted(rows, key=lambda row: -row[2])[:count]

    def __str__(self) -> str:
        return summary(self)


def summary(estimate: Estimate) -> str:
    """Return the estimate as text of several lines."""
    e, card = estimate, estimate.card
    errors = load_constants()["errors"]
    if e.limit == "launches":
        factor = e.cpu_seconds / max(e.gpu_seconds, 1e-9)
        reason = f"the CPU: launching the kernels takes {factor:.1f} times as long as running them"
    else:
        factor = e.gpu_seconds / max(e.cpu_seconds, 1e-9)
        what = "its memory" if e.limit == "memory" else "its arithmetic units"
        reason = f"the GPU, mostly {what}; it works {factor:.1f} times as long as the CPU launches"
    enough = "fits into" if e.fits else "does NOT fit into"
    lines = [
        f"{card.name}, modelled (published measurements of networks differ by "
        f"{errors['networks']:.0%} in the median, see docs/the_clock.md)",
        f"  time      {_ms(e.seconds)} per call; limited by {reason}",
        f"  memory    {e.peak_bytes / GIB:.2f} GiB at the peak, which {enough} the "
        f"{card.memory_bytes / GIB:.1f} GiB of the card",
        f"  use       {e.flops / e.seconds / 1e12:.3g} TFLOP/s in products and convolutions, "
        f"{e.mfu:.0%} of the peak (MFU)",
    ]
    for name, count, seconds in e.most_expensive():
        share = seconds / max(e.gpu_seconds, 1e-12)
        lines.append(
            f"  kernels   {name}: {count} launches, {_ms(seconds)}, {share:.0%} of the GPU's time"
        )
    by_line: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0.0])
    for span in e.waits:
        entry = by_line[span.line, span.name]
        entry[0] += 1
        entry[1] += span.seconds
    for (line, name), (count, seconds) in sorted(by_line.items(), key=lambda x: -x[1][1])[:5]:
        lines.append(f"  waits     {line}: {name}, {count} times, {_ms(seconds)} in total")
    return "\n".join(lines)


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
            as on the computers of the published measurements. A faster CPU takes 10 to 20.

    Raises:
        ValueError: there is no card with this name.
        NotSimulatedError: the function uses something that is not simulated.
    """
    card = find_card(gpu)
    with ExitStack() as stack:
        machine = stack.enter_context(_machine_for(card))
        if launch_us is not None:
            machine.clock.launch_seconds = 1e-6 * launch_us
        args, kwargs = stack.enter_context(_on_gpu(function, args, kwargs, machine))
        clock, memory = machine.clock, machine.memories[0]
        function(*args, **kwargs)  # creates the states of optimizers, for example
        clock.spans.clear()
        start, start_cpu = clock.end, clock.now
        for _ in range(_MEASURED_STEPS):
            first = len(clock.spans)
            function(*args, **kwargs)
        seconds = (clock.end - start) / _MEASURED_STEPS
        in_waits = sum(s.seconds for s in clock.spans if s.row == "CPU")
        cpu = (clock.now - start_cpu - in_waits) / _MEASURED_STEPS
        spans = clock.spans[first:]
        memory.collect()
        peak = memory.statistics["reserved_bytes"].peak[2]
    busy = sum(span.seconds for span in spans if span.row.startswith("GPU"))
    return Estimate(card, seconds, cpu, busy, peak, spans)


@contextmanager
def _machine_for(card: Card) -> Iterator[Machine]:
    """Simulate one card with unlimited memory that computes nothing; restore what was before."""
    import simulated_cuda

    from .timed import TimedOperations, TimedWaits

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
    names = ("card", "clock", "computes", "memories", "every_allocation")
    before = {name: getattr(machine, name) for name in names}
    machine.card, machine.clock, machine.computes = card, Clock(card), False
    machine.memories = [DeviceMemory(i, 1 << 60) for i in range(len(before["memories"]))]
    mode.memories, machine.every_allocation = machine.memories, True
    try:
        with TimedOperations(machine), TimedWaits(machine):
            yield machine
    finally:
        for name, value in before.items():
            setattr(machine, name, value)
        mode.memories = machine.memories


@contextmanager
def _on_gpu(
    function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], machine: Machine
) -> Iterator[tuple[tuple, dict[str, Any]]]:
    """Treat what a function uses as if it were on the GPU; yield its arguments."""
    found = _Found()
    found.add([args, kwargs])
    for value in _used_by(function):
        found.add(value)
    copies: dict[int, torch.Tensor] = {}
    with torch._C.DisableTorchFunction(), ExitStack() as stack:
        for tensor in found.tensors.values():
            stack.callback(_restore_gradient, tensor, tensor.grad if tensor.is_leaf else None)
            if not tensor.is_cpu:
                copies[id(tensor)] = _shape_only(tensor)
            _tag(copies.get(id(tensor), tensor), machine, stack)
        for owner in found.tables:
            for name, value in owner.items():
                if id(value) in copies:
                    stack.callback(owner.__setitem__, name, value)
                    owner[name] = copies[id(value)]
        for optimizer in found.optimizers:
            state = {key: dict(value) for key, value in optimizer.state.items()}
            stack.callback(setattr, optimizer, "state", defaultdict(dict, state))
            for group in optimizer.param_groups:
                stack.callback(group.__setitem__, "params", group["params"])
                group["params"] = [copies.get(id(p), p) for p in group["params"]]
        arguments = tree_map_only(
            torch.Tensor, lambda tensor: copies.get(id(tensor), tensor), (args, kwargs)
        )
        cleanup = stack.pop_all()
    try:
        yield arguments
    finally:
        with torch._C.DisableTorchFunction():
            cleanup.close()


class _Found:
    """Tensors, optimizers, and the tables of modules with parameters and buffers."""

    def __init__(self) -> None:
        self.tensors: dict[int, torch.Tensor] = {}
        self.optimizers: list[Optimizer] = []
        self.tables: list[dict[str, Any]] = []
        self._seen: set[int] = set()

    def add(self, value: Any, depth: int = 0) -> None:
        """Add what a value contains."""
        if id(value) in self._seen or depth > 4 or inspect.ismodule(value):
            return
        self._seen.add(id(value))
        if isinstance(value, torch.Tensor):
            self.tensors[id(value)] = value
        elif isinstance(value, nn.Module):
            for module in value.modules():
                self.tables += [module._parameters, module._buffers]
                for tensor in (*module._parameters.values(), *module._buffers.values()):
                    self.add(tensor)
                self.add(vars(module), depth + 1)
        elif isinstance(value, Optimizer):
            self.optimizers.append(value)
            self.add([value.param_groups, list(value.state.values())], depth)
        elif isinstance(value, list | tuple | set):
            for item in value:
                self.add(item, depth + 1)
        elif isinstance(value, dict):
            self.add(list(value.values()), depth)
        elif hasattr(value, "__dict__") and not isinstance(value, type | FunctionType):
            self.add(vars(value), depth + 1)


def _used_by(function: Any) -> Iterator[Any]:
    """Yield the variables outside of a function that it may use."""
    function = inspect.unwrap(function)
    if isinstance(function, nn.Module):
        yield function
        return
    yield getattr(function, "__self__", None)
    yield [getattr(function, name, None) for name in ("args", "keywords", "func")]
    function = getattr(function, "__func__", function)
    if not isinstance(function, FunctionType):
        return
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # the variable has no value yet
            continue
    codes = [function.__code__]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        for name in code.co_names:
            value = function.__globals__.get(name)
            yield value
            # Functions of the program that this one calls, which use variables too.
            is_own = isinstance(value, FunctionType) and value.__globals__ is function.__globals__
            if is_own and value.__code__ not in codes:
                codes.append(value.__code__)
                yield [cell.cell_contents for cell in value.__closure__ or ()]


def _shape_only(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor like one of another device, in memory that is never touched."""
    copy = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype)
    if isinstance(tensor, nn.Parameter):
        return nn.Parameter(copy, requires_grad=tensor.requires_grad)
    return copy.requires_grad_(tensor.requires_grad)


def _tag(tensor: torch.Tensor, machine: Machine, stack: ExitStack) -> None:
    """Set the device of a tensor to the GPU, as a tensor that may not be written to."""
    storage = storage_of(tensor)
    before = storage.device_tag
    if getattr(before, "memory", None) is machine.memories[0]:
        return  # a view of a tensor that has a tag already
    block = machine.memories[0].allocate(storage.nbytes())
    tag = DeviceTag(0, False, storage.nbytes(), machine.memories[0], block)
    tag.is_protected = True
    storage.device_tag = tag
    stack.callback(setattr, storage, "device_tag", before if before.is_set else UNKNOWN)


def _restore_gradient(tensor: torch.Tensor, gradient: torch.Tensor | None) -> None:
    if tensor.is_leaf:
        tensor.grad = gradient
