"""Lends what a function uses to a simulated GPU, and puts everything back as it was.

The search starts at the function and its arguments. It follows attributes, containers, closures,
and the global variables that functions of the program (not of libraries) name.
"""

from __future__ import annotations

import random
import sys
import sysconfig
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader, Dataset

from .device_tags import UNKNOWN, _parts, device_of_storage, storage_of
from .machine import Machine

Tensor = torch.Tensor
_DEPTH = 12
_ATOMS = (bool, int, float, complex, str, bytes, torch.dtype, torch.Size, type(None))
_LIBRARIES = (
    *map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")), "<frozen",
    str(Path(torch.__file__).parent), str(Path(__file__).parent / "tests")[:-5],
)  # fmt: skip
# Classes of the standard library whose objects hold the program's variables.
_NAMESPACES = {"argparse", "types", "collections"}
# State of optimizers that is on the CPU unless a kernel needs it.
_COUNTERS = {"step", "mu_product"}


@contextmanager
def borrowed(
    function: Any, args: tuple, kwargs: dict[str, Any], machine: Machine
) -> Iterator[tuple[tuple, dict[str, Any]]]:
    """Treat what a function uses as if it were on GPU 0; yield the function's arguments."""
    call = [list(args), kwargs]
    found = _Reachable()
    with torch._C.DisableTorchFunction(), ExitStack() as stack:
        found.visit([call, function])
        stack.callback(random.setstate, random.getstate())
        generators = [torch.default_generator, *found.generators, *machine.generators]
        for generator in (*generators, sys.modules.get("numpy.random")):
            if generator is not None:
                stack.callback(generator.set_state, generator.get_state())
        stack.callback(found.restore)
        copies = {
            id(tensor): _shape_only(tensor) for tensor in found.tensors.values()
            if tensor.device.type != "cpu"
        }  # fmt: skip
        for tensor in found.tensors.values():
            stack.callback(_restore_tensor, tensor, tensor.detach(), tensor.requires_grad,
                           tensor.grad if tensor.is_leaf else None)  # fmt: skip
            _tag(copies.get(id(tensor), tensor), machine, id(tensor) not in found.owned, stack)
        found.replace(lambda value: copies.get(id(value), value))
        for optimizer in found.optimizers:
            optimizer.state = defaultdict(dict, _state(optimizer, copies))
        cleanup = stack.pop_all()
    try:
        yield tuple(call[0]), call[1]
    finally:
        with torch._C.DisableTorchFunction():
            cleanup.close()


class _Reachable:
    """The tensors, optimizers and generators that a function can reach, and where they are."""

    def __init__(self) -> None:
        self.tensors: dict[int, Tensor] = {}
        self.owned: set[int] = set()  # parameters and other tensors of modules and optimizers
        self.optimizers: list[Optimizer] = []
        self.generators: list[torch.Generator] = []
        # A container or an object, what it contains, and whether that is everything in it.
        self.places: list[tuple[Any, Any, bool]] = []
        self._seen: dict[int, Any] = {}

    def visit(self, value: Any, depth: int = 0, is_owned: bool = False) -> None:
        """Add what a value contains."""
        if isinstance(value, _ATOMS) or id(value) in self._seen or depth > _DEPTH:
            return
        self._seen[id(value)] = value
        further: Any = ()
        if isinstance(value, Tensor):
            self.tensors[id(value)] = value
            further = [value.grad] if value.is_leaf else []
            if is_owned or isinstance(value, nn.Parameter):
                self.owned.add(id(value))
        elif isinstance(value, torch.Generator):
            self.generators.append(value)
        elif isinstance(value, list | deque | set | dict):
            content = dict(value) if isinstance(value, dict) else list(value)
            self.places.append((value, content, True))
            further = content.values() if isinstance(content, dict) else content
        elif isinstance(value, tuple):
            further = value
        elif isinstance(value, CellType):
            further = self._remember_attributes(value, ["cell_contents"])
        elif isinstance(value, partial | MethodType | staticmethod | classmethod | property):
            names = ("func", "args", "keywords", "__self__", "__func__", "fget")
            further = [getattr(value, name, None) for name in names]
        elif isinstance(value, FunctionType):
            further = [*(value.__closure__ or ()), value.__defaults__, vars(value)]
            if _is_own(value.__code__.co_filename):
                self._visit_globals(value, depth)
        elif isinstance(value, type):
            if _is_own(getattr(sys.modules.get(value.__module__), "__file__", "") or ""):
                further = [
                    v for k, v in vars(value).items() if k not in ("__dict__", "__weakref__")
                ]
                own = {k: v for k, v in vars(value).items() if k[:2] != "__" and not callable(v)}
                data = [k for k, v in own.items() if not hasattr(v, "__get__")]
                self._remember_attributes(value, data)
        elif not isinstance(value, ModuleType | DataLoader | Dataset):
            further = self._parts_of(value)
            is_owned = is_owned or isinstance(value, nn.Module | Optimizer)
            depth = 0 if isinstance(value, nn.Module) else depth
        for item in further:
            self.visit(item, depth + 1, is_owned)

    def _parts_of(self, value: Any) -> list[Any]:
        """Return the class and the attributes of an object; none for those of the system."""
        if type(value).__module__.partition(".")[0] in sys.stdlib_module_names - _NAMESPACES:
            return []
        if isinstance(value, Optimizer):
            self.optimizers.append(value)
            self.visit([list(value.state.values())], is_owned=True)
        slots = [
            name for kind in type(value).__mro__
            for name in (kind.__dict__.get("__slots__") or ())
            if name[:2] != "__" and hasattr(value, name)
        ]  # fmt: skip
        attributes = self._remember_attributes(value, slots) if slots else []
        return [*type(value).__mro__[:-1], getattr(value, "__dict__", None), *attributes]

    def _remember_attributes(self, owner: Any, names: list[str]) -> list[Any]:
        try:
            values = {name: getattr(owner, name) for name in names}
        except ValueError:  # a variable that has no value yet
            return []
        self.places.append((owner, values, False))
        return list(values.values())

    def _visit_globals(self, function: FunctionType, depth: int) -> None:
        """Visit the global variables that a function names, also those of the program's modules."""
        codes = [function.__code__]
        for code in codes:
            codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        names = {name for code in codes for name in code.co_names}
        tables = [function.__globals__]
        for name in names & function.__globals__.keys():
            value = function.__globals__[name]
            if isinstance(value, ModuleType) and _is_own(getattr(value, "__file__", None) or ""):
                tables.append(vars(value))
        for table in tables:
            values = {name: table[name] for name in names & table.keys()}
            self.places.append((table, values, False))
            self.visit(list(values.values()), depth + 1)

    def replace(self, replacement: Any) -> None:
        """Replace tensors, and variables that hold a device: "cpu" means the GPU here."""

        def new(name: Any, value: Any) -> Any:
            if isinstance(value, Tensor):
                return replacement(value)
            if type(value) is tuple:
                items = [new(name, item) for item in value]
                changed = any(a is not b for a, b in zip(items, value, strict=True))
                return tuple(items) if changed else value
            text = name.lower() if isinstance(name, str) else ""
            if isinstance(value, torch.device) and "cpu" not in text and "host" not in text:
                return torch.device("cuda", 0)
            return "cuda" if text.endswith("device") and value == "cpu" else value

        for place, values, _ in self.places:
            items = values.items() if isinstance(values, dict) else enumerate(values)
            for key, value in items:
                changed = new(key, value)
                if changed is value or isinstance(place, set):
                    continue
                if isinstance(place, dict | list | deque):
                    place[key] = changed
                else:
                    setattr(place, key, changed)

    def restore(self) -> None:
        """Put back what all containers and objects contained."""
        for place, values, is_all in self.places:
            if not isinstance(place, dict | list | set | deque):
                for name, value in values.items():
                    if getattr(place, name, place) is not value:
                        setattr(place, name, value)
            elif not is_all:
                place.update(values)
            else:
                place.clear()
                (place.extend if isinstance(place, list | deque) else place.update)(values)


def _is_own(file: str) -> bool:
    """Return whether a file belongs to the program rather than to a library."""
    is_test = file.startswith(_LIBRARIES[-1] + "tests")
    return is_test or not (file.startswith(_LIBRARIES) or "site-packages" in file)


def _state(optimizer: Optimizer, copies: dict[int, Tensor]) -> dict[Any, Any]:
    """Return a copy of an optimizer's state; its counters are on the CPU as on real GPUs."""
    on_gpu = any(g.get("capturable") or g.get("fused") for g in optimizer.param_groups)

    def lent(name: str, value: Any) -> Any:
        if isinstance(value, Tensor) and name in _COUNTERS and not on_gpu:
            return torch.ones_like(value, device="cpu")
        return copies.get(id(value), value)

    return {
        copies.get(id(key), key): {name: lent(name, value) for name, value in state.items()}
        if isinstance(state, dict) else state
        for key, state in optimizer.state.items()
    }  # fmt: skip


def _shape_only(tensor: Tensor) -> Tensor:
    """Return a tensor like one of another device, in memory that is never touched."""
    copy = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype)
    if isinstance(tensor, nn.Parameter):
        return nn.Parameter(copy, requires_grad=tensor.requires_grad)
    return copy.requires_grad_(tensor.requires_grad)


def _tag(tensor: Tensor, machine: Machine, from_host: bool, stack: ExitStack) -> None:
    """Set the device of a tensor to the GPU, as a tensor that may not be written to."""
    try:
        storage = storage_of(tensor)
    except (NotImplementedError, RuntimeError):
        for part in _parts(tensor):
            _tag(part, machine, from_host, stack)
        return
    before, memory = storage.device_tag, machine.memories[0]
    if before.memory is memory:
        return  # a view of a tensor that has a tag already
    memory.allocate(storage)
    tag = storage.device_tag
    tag.is_protected, tag.from_host = True, from_host and before.index < 0
    stack.callback(setattr, storage, "device_tag", before if before.is_set else UNKNOWN)


def _restore_tensor(
    tensor: Tensor, data: Tensor, requires_grad: bool, gradient: Tensor | None
) -> None:
    if tensor.device.type == "cpu" == device_of_storage(storage_of(data)).type and (
        tensor.data_ptr() != data.data_ptr() or tensor.dtype != data.dtype
    ):
        tensor.data = data
    if tensor.is_leaf:
        tensor.requires_grad_(requires_grad)
        tensor.grad = gradient
