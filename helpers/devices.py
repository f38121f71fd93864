"""Choose and describe devices, list where tensors are, and count hidden synchronizations."""

import inspect
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

import simulated_cuda
from helpers.language import translate
from helpers.tables import Table, TableDisplay
from simulated_cuda.device_tags import DispatchMode


def choose_device(name: str | torch.device = "auto") -> torch.device:
    """Return the device called `name` after checking that this machine can use it.

    "auto" returns the accelerator that `torch.accelerator` finds (cuda, mps, xpu, and others), else
    the CPU. Any other name that cannot be used raises ValueError; the message lists those that can.
    """
    # Without check_available, a CUDA build of torch returns "cuda" on a machine without a GPU.
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if str(name) == "auto":
        return _indexed(accelerator or torch.device("cpu"))
    count = torch.accelerator.device_count() if accelerator else 0
    usable = ["cpu", *(f"{accelerator.type}:{i}" for i in range(count))]
    try:
        device = _indexed(torch.device(name))
    except RuntimeError:
        device = None
    if device is None or f"{device.type}:{device.index or 0}" not in [*usable, "cpu:0"]:
        raise ValueError(
            f"device {str(name)!r} cannot be used on this machine (torch {torch.__version__}); "
            f"usable here: {', '.join(usable)}. Choose one of these, or 'auto'."
        )
    return device


def _indexed(device: torch.device) -> torch.device:
    # A tensor's device is cuda:0 or mps:0, never cuda or mps, and the two do not compare equal.
    return device if device.type == "cpu" else torch.device(device.type, device.index or 0)


def describe_device(device: torch.device) -> str:
    """Return a short description: "cuda:0 (NVIDIA H200)" or "cpu (x86_64, 2 cores)"."""
    if device.type == "cuda":
        return f"{device} ({torch.cuda.get_device_name(device)})"
    if device.type == "cpu":
        return translate(f"cpu ({platform.machine()}, {os.cpu_count()} cores)")
    return str(device)


def device_of(net: nn.Module) -> torch.device:
    """Return the common device of all parameters and buffers of `net`; the CPU if it has none.

    If they are on several devices, ValueError names one tensor on each.
    """
    first: dict[torch.device, str] = {}
    for name, tensor in [*net.named_parameters(), *net.named_buffers()]:
        first.setdefault(tensor.device, name)
    if len(first) > 1:
        places = " and ".join(f"{name} on {device}" for device, name in first.items())
        raise ValueError(f"the network is on several devices: {places}. Move it with net.to(...).")
    return next(iter(first), torch.device("cpu"))


def synchronize(device: torch.device) -> None:
    """Wait until `device` has finished all its work, so that the clock can be read."""
    if device.type != "cpu":
        torch.accelerator.synchronize(device)


@dataclass(frozen=True)
class Row:
    """One tensor in the table that `where` returns."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device
    bytes: int


@dataclass(repr=False)
class TensorTable(TableDisplay):
    """A table of tensors: name, shape, dtype, device, and size."""

    rows: list[Row]

    def devices(self) -> set[str]:
        """Return the names of the devices in the table."""
        return {str(row.device) for row in self.rows}

    def _table(self) -> Table:
        names = tuple(map(translate, ("name", "shape", "dtype", "device", "size")))
        cells = [
            (r.name, str(r.shape), str(r.dtype)[len("torch.") :], str(r.device), f"{r.bytes:,} B")
            for r in self.rows
        ]
        return Table(names, cells)


def where(*objects: Any, **named: Any) -> TensorTable:
    """List every tensor in `objects` with its shape, dtype, device, and size in bytes.

    `objects` are tensors, modules, optimizers, or lists and dicts of them; anything else raises
    TypeError. The table uses the names of the caller's variables, and those of keyword arguments.
    """
    caller = inspect.currentframe().f_back
    variables = [*caller.f_locals.items(), *caller.f_globals.items()]

    def name_of(obj: Any) -> str:
        names = (name for name, value in variables if value is obj and not name.startswith("_"))
        return next(names, type(obj).__name__)

    pairs = [(name_of(obj), obj) for obj in objects] + list(named.items())
    known: dict[int, str] = {}  # names of parameters, for the state of optimizers
    rows: list[Row] = []
    for name, obj in sorted(pairs, key=lambda pair: isinstance(pair[1], torch.optim.Optimizer)):
        for label, tensor in _tensors(name, obj, known):
            known.setdefault(id(tensor), label)
            size = tensor.numel() * tensor.element_size()
            rows.append(Row(label, tuple(tensor.shape), tensor.dtype, tensor.device, size))
    return TensorTable(rows)


def _tensors(name: str, obj: Any, known: Mapping[int, str]) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(obj, torch.Tensor):
        yield name, obj
    elif isinstance(obj, nn.Module):
        for inner, tensor in [*obj.named_parameters(), *obj.named_buffers()]:
            yield f"{name}.{inner}", tensor
            if tensor.grad is not None:
                yield f"{name}.{inner}.grad", tensor.grad
    elif isinstance(obj, torch.optim.Optimizer):
        parameters = [id(p) for group in obj.param_groups for p in group["params"]]
        for parameter, state in obj.state.items():
            owner = known.get(id(parameter), f"parameter {parameters.index(id(parameter))}")
            for key, value in state.items():
                if isinstance(value, torch.Tensor):
                    yield f"{name}.state[{owner}].{key}", value
    elif isinstance(obj, Mapping | list | tuple):
        for key, value in obj.items() if isinstance(obj, Mapping) else enumerate(obj):
            yield from _tensors(f"{name}[{key!r}]", value, known)
    else:
        raise TypeError(
            f"where() lists tensors, modules, optimizers, and lists or dicts of them; "
            f"`{name}` is a {type(obj).__name__}."
        )


class AfterEachOperation(DispatchMode):
    """Calls `action(operation)` after every operation, including those of a backward pass."""

    def __init__(self, action: Callable[[Any], None]) -> None:
        super().__init__()
        self.action = action

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        # Bypass the simulated GPU: it has already handled this operation, or, in a backward pass,
        # must not handle it.
        with torch._C.DisableTorchFunction():
            result = operation(*args, **(kwargs or {}))
        self.action(operation)
        return result


def count_fetches(action: Callable[[], object]) -> int:
    """Run `action()` and return how many times it makes the CPU wait for the GPU.

    See `simulated_cuda.count_waits`. On the CPU, nothing waits.
    """
    with simulated_cuda.count_waits() as counter:
        action()
    return len(counter)
