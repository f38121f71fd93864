"""List the tensors in the failing expression, and find the one that is on the wrong device."""

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from types import ModuleType
from typing import Any

import torch
from torch import nn

from helpers.explain.source import MISSING, CodeFrame, as_device

_MAX_ELEMENTS = 50  # to inspect in a list or dict
_FACTORIES = (
    "arange as_tensor empty eye from_numpy full hann_window linspace logspace ones rand randint "
    "randn randperm tensor zeros"
)
_TENSOR_BUILTINS = ("sum", "max", "min", "abs", "next", "pow", "getattr")
_MOVES = ("to", "cpu", "cuda")
# Methods and attributes of a tensor or network whose result is not a tensor.
_NOT_TENSORS = (
    "item tolist numpy size dim numel get_device data_ptr shape dtype device ndim is_cuda "
    "parameters named_parameters state_dict"
)


@dataclass(frozen=True)
class Operand:
    """A tensor or generator in the student's expression."""

    text: str  # its name in the student's code, such as `net[0].weight`
    device: torch.device | None  # None if it is the result of one of the student's functions
    node: ast.AST  # the part of the expression that it comes from
    value: Any = None  # the tensor or generator, if it exists before the line runs
    holder: Any = None  # the network, optimizer, list or dict that contains it
    created: bool = False  # the expression creates it, as `torch.ones(3)` does
    moved: bool = False  # the expression moves it, as `x.to(device)` does
    index: bool = False  # the expression uses it to index another tensor
    inputs: tuple["Operand", ...] = ()  # of a network's result: its tensors and its arguments

    @property
    def is_scalar(self) -> bool:
        """Whether it is a tensor without dimensions, which torch accepts from the CPU."""
        return isinstance(self.value, torch.Tensor) and self.value.dim() == 0

    @property
    def is_trainable_leaf(self) -> bool:
        """Whether it is trained, so that a moved copy would get no gradient."""
        value = self.value
        return isinstance(value, torch.Tensor) and value.is_leaf and value.requires_grad


@dataclass(frozen=True)
class DeviceMismatch:
    """A line that mixes two devices: `culprits` should be on `target`, as the others are."""

    frame: CodeFrame
    target: torch.device
    culprits: list[Operand]
    already_on_target: list[Operand]


def find_mismatch(frames: list[CodeFrame], devices: tuple[str, ...]) -> DeviceMismatch | None:
    """Return the mismatch that caused an error, in the line where it has to be fixed.

    The search starts at the innermost of `frames` with two devices. If its culprit was passed as an
    argument, the fix belongs in the caller's line; if the function created it, in this one.
    `devices` are those that the error's message names.
    """
    found = None
    for frame in frames:
        if found is None:
            found = mismatch_in(frame, devices)
        elif _is_argument(found) and (outer := mismatch_in(frame)) is not None:
            found = outer
        else:
            break
    return found


def _is_argument(mismatch: DeviceMismatch) -> bool:
    """Return whether the culprit is a parameter of a network, or computed from an argument."""
    culprit, frame = mismatch.culprits[0], mismatch.frame
    name = next((n.id for n in ast.walk(culprit.node) if isinstance(n, ast.Name)), "")
    definition = frame.definition_of(name) if frame.in_function else None
    if definition is None:
        return name in frame.arguments
    return not any(is_factory(frame, part) for part in ast.walk(definition.value))


def mismatch_in(frame: CodeFrame, devices: tuple[str, ...] = ()) -> DeviceMismatch | None:
    """Return the mismatch in the failing expression; None if everything is on one device.

    Tensors without dimensions, which torch accepts from the CPU in most operations, count only if
    nothing else explains the error. If `x` is on cuda:0 in `x + load()`, and `devices` are cuda:0
    and cpu, then `load()` is on the CPU.
    """
    groups = []
    for node in dict.fromkeys((frame.node, frame.statement)) if frame.source else ():
        pool = operands(frame, node)
        known = [o for o in pool if o.device and not _is_accepted(o, pool)]
        unknown = [o for o in pool if not o.device]
        groups.append(known)
        others = {as_device(name) for name in devices} - {o.device for o in known}
        if len(unknown) == len(others) == 1 and len(devices) == 2:
            groups.append([*known, replace(unknown[0], device=others.pop())])
    groups += [[o for o in operands(frame, frame.node) if o.device]] if frame.source else []
    for group in groups:
        if len({o.device for o in group}) > 1:
            target = _target(group)
            culprits = [o for o in group if o.device != target]
            return DeviceMismatch(frame, target, culprits, [o for o in group if o.device == target])
    return None


def _is_accepted(operand: Operand, pool: list[Operand]) -> bool:
    """Return whether torch accepts `operand` on the CPU: a scalar, or an index into a tensor."""
    is_index = operand.index and any(not o.index and o != operand for o in pool)
    return operand.device.type == "cpu" and (operand.is_scalar or is_index)


def _target(group: list[Operand]) -> torch.device:
    """Return the accelerator on which everything should be; if there are several, the network's."""
    if all(isinstance(o.holder, torch.optim.Optimizer) for o in group):
        return next((o.device for o in group if isinstance(o.value, nn.Parameter)), group[0].device)
    accelerators = [o for o in group if o.device.type != "cpu"]
    networks = [o for o in accelerators if isinstance(o.holder, nn.Module)]
    return (networks or accelerators)[0].device


def operands(frame: CodeFrame, node: ast.AST) -> list[Operand]:
    """Return the operands of the failing expression `node`, in source order.

    The devices of the results of the student's own functions are None.
    """
    match node:
        case ast.For(iter=iterated):
            nodes = [iterated]
        case ast.With(items=items):
            nodes = [item.context_expr for item in items]
        case ast.Assign(targets=targets, value=value):
            # w.grad = gradient: torch compares the gradient's device with w's
            owners = [t.value for t in targets if getattr(t, "attr", "") == "grad"]
            nodes = [*(t for t in targets if isinstance(t, ast.Subscript)), *owners, value]
        case ast.stmt():  # without its body
            nodes = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
        case _:
            nodes = [node]
    return [o for node in nodes for o in _collect(frame, node, top=True)]


def _collect(frame: CodeFrame, node: ast.AST, *, top: bool = False) -> list[Operand]:
    value = frame.value_of(node)
    if value is not MISSING:
        return list(_tensors_in(frame, frame.source.segment(node), value, node))
    unknown = [Operand(frame.source.segment(node), None, node)] if hasattr(node, "lineno") else []
    match node:
        case ast.Name(id=name):
            return [] if hasattr(builtins, name) else unknown
        case ast.Call():
            return _operands_of_call(frame, node, top=top)
        case ast.Subscript(value=base, slice=key):
            found = [o for o in _collect(frame, base) if o.device]
            return (found or unknown) + [replace(o, index=True) for o in _collect(frame, key)]
        case ast.Attribute(attr=attr) if attr in _NOT_TENSORS.split():
            return []
        case ast.Attribute(value=base):
            return [o for o in _collect(frame, base) if o.device] or unknown
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            return []
        case ast.Lambda() | ast.FormattedValue():
            return []
    return [o for part in ast.iter_child_nodes(node) for o in _collect(frame, part)]


def _operands_of_call(frame: CodeFrame, call: ast.Call, *, top: bool) -> list[Operand]:
    text, function = frame.source.segment(call), frame.value_of(call.func)
    if is_factory(frame, call) and not top:
        device = as_device(device_argument(frame, call) or torch.get_default_device())
        return [Operand(text, device, call, created=True)]
    parts = [*call.args, *(keyword.value for keyword in call.keywords)]
    arguments = [o for part in parts for o in _collect(frame, part)]
    if isinstance(function, nn.Module):
        network = list(_tensors_in(frame, frame.source.segment(call.func), function, call.func))
        if top or len({o.device for o in network}) != 1:
            return network + arguments
        inputs = tuple(o for o in network + arguments if o.device)
        return [Operand(text, network[0].device, call, None, function, inputs=inputs)]
    if not isinstance(call.func, ast.Attribute):
        is_torch = str(getattr(function, "__module__", "")).startswith("torch")  # `relu(x)`
        name = getattr(call.func, "id", "")
        is_number = hasattr(builtins, name) and name not in _TENSOR_BUILTINS  # `len(x)`
        if top:  # in `layer(x)` of a comprehension, `layer` may be a network
            return arguments + (_collect(frame, call.func) if function is MISSING else [])
        return arguments if is_torch else [] if is_number else [Operand(text, None, call)]
    receiver, method = _collect(frame, call.func.value), call.func.attr
    if method in _MOVES and not top:
        device = device_argument(frame, call)
        return [Operand(text, device, call, moved=True)] if device else []
    is_known = isinstance(frame.value_of(call.func.value), ModuleType | torch.Tensor)
    if method in _NOT_TENSORS.split() and not top:
        return []
    return receiver + arguments if top or receiver or is_known else [Operand(text, None, call)]


def _tensors_in(
    frame: CodeFrame, text: str, value: Any, node: ast.AST, holder: Any = None, depth: int = 0
) -> Iterator[Operand]:
    """Yield the tensors and generators in `value`; `text` is its name in the student's code."""
    if isinstance(value, torch.Tensor | torch.Generator):
        yield Operand(text, as_device(value), node, value, holder)
    elif isinstance(value, nn.Module):
        for name, tensor in _named_tensors(value, text):
            yield Operand(name, as_device(tensor), node, tensor, value)
    elif isinstance(value, torch.optim.Optimizer):
        names = {
            id(tensor): name
            for variable, module in frame.names.items()
            if isinstance(module, nn.Module) and not variable.startswith("_")
            for name, tensor in _named_tensors(module, variable)
        }
        parameters = [p for group in value.param_groups for p in group["params"]]
        for number, parameter in enumerate(parameters):
            name = names.get(id(parameter), f"parameter {number}")
            yield Operand(name, as_device(parameter), node, parameter, value)
            for key, tensor in value.state.get(parameter, {}).items():
                if isinstance(tensor, torch.Tensor):
                    label = f"{text}.state[{name}][{key!r}]"
                    yield Operand(label, as_device(tensor), node, tensor, value)
    elif isinstance(value, dict | list | tuple) and depth < 3:
        pairs: Any = dict.items(value) if isinstance(value, dict) else enumerate(value)
        for key, element in islice(pairs, _MAX_ELEMENTS):
            name = f"{text}[{key!r}]"
            yield from _tensors_in(frame, name, element, node, holder or value, depth + 1)


def _named_tensors(module: nn.Module, text: str) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield parameters and buffers, named as in Python: `net[2].weight`."""
    for name, tensor in [*module._parameters.items(), *module._buffers.items()]:
        if tensor is not None:
            yield f"{text}.{name}", tensor
    for key, child in module._modules.items():
        is_list = isinstance(module, nn.Sequential | nn.ModuleList)
        is_dict = isinstance(module, nn.ModuleDict)
        step = f"[{key}]" if is_list else f"[{key!r}]" if is_dict else f".{key}"
        if child is not None:
            yield from _named_tensors(child, text + step)


def is_factory(frame: CodeFrame, node: ast.AST) -> bool:
    """Return whether `node` calls a function such as `torch.ones`, which creates a tensor."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    return node.func.attr in _FACTORIES.split() and frame.value_of(node.func.value) is torch


def device_argument(frame: CodeFrame, call: ast.Call) -> torch.device | None:
    """Return the device that a call specifies: `device="cuda"`, `.to(device)`, `.cpu()`."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if method in ("cpu", "cuda") and not call.args:
        return as_device(method)
    nodes = [keyword.value for keyword in call.keywords if keyword.arg == "device"]
    nodes += call.args[:1] if method in _MOVES else []
    devices = (as_device(frame.value_of(node)) for node in nodes)
    return next((device for device in devices if device is not None), None)
