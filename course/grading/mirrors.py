"""Sends mutable objects from the judge to the answer process, and applies changes on return.

The judge pickles the arguments of a call and the mutable objects in them: tensors, containers,
networks, optimizers and files. The answer process returns the new state of each object as plain
data, and the judge applies it to its own objects.
"""

from __future__ import annotations

import base64
import io
import pickle
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import cloudpickle
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from course.grading.decoding import Decoder, Malformed, make_tensor
from course.grading.encoding import Encoder, tensor_data

_MODULE_ATTRIBUTES = frozenset(vars(nn.Module()))
_OPTIMIZER_ATTRIBUTES = {"param_groups", "state", "defaults"}
_MAX_FILE_BYTES = 1 << 24


def mutable_objects(*values: Any) -> list[Any]:
    """Return all mutable objects in these values, without duplicates."""
    objects: dict[int, Any] = {}
    for value in values:
        _collect(value, objects)
    return list(objects.values())


def _collect(value: Any, objects: dict[int, Any]) -> None:
    kinds = (Tensor, list, dict, set, nn.Module, Optimizer, Path)
    if id(value) in objects or not isinstance(value, (*kinds, tuple)):
        return
    if isinstance(value, kinds):
        objects[id(value)] = value
    items: Iterator[Any] | list[Any] = []
    if isinstance(value, dict):
        items = [*value.values()]
    elif isinstance(value, list | tuple | set):
        items = [*value]
    elif isinstance(value, Optimizer):
        items = [p for group in value.param_groups for p in group["params"]]
    elif isinstance(value, nn.Module):
        items = [*value._modules.values(), *value._parameters.values(), *value._buffers.values()]
        items += [*_own_attributes(value).values(), *_hook_variables(value)]
    for item in items:
        _collect(item, objects)


def _own_attributes(value: nn.Module | Optimizer) -> dict[str, Any]:
    """Return the attributes that a check's subclass added, such as a list of recorded calls."""
    standard_names = _MODULE_ATTRIBUTES if isinstance(value, nn.Module) else _OPTIMIZER_ATTRIBUTES
    return {
        name: item
        for name, item in vars(value).items()
        if name not in standard_names and isinstance(item, bool | int | float | list | set)
    }


def _hook_variables(module: nn.Module) -> Iterator[Any]:
    """Yield the closure variables and defaults of a module's hooks, which may write to them."""
    for hook in (*module._forward_hooks.values(), *module._forward_pre_hooks.values()):
        if isinstance(hook, FunctionType):
            cells = [cell.cell_contents for cell in hook.__closure__ or ()]
            yield from (item for item in (*cells, *(hook.__defaults__ or ())))


class ValuePickler(cloudpickle.Pickler):
    """Pickles values for the answer process; functions and classes of checks are pickled by value.

    `get_name` returns the name of an object that the other process already has, or None.
    """

    def __init__(self, file: io.BytesIO, get_name: Callable[[Any], Any]) -> None:
        super().__init__(file)
        self._get_name = get_name

    def persistent_id(self, value: Any) -> Any:
        """Return the name of an object that the other process already has, or None."""
        return self._get_name(value)

    def reducer_override(self, value: Any) -> Any:
        """Pickle tensors, generators and files so that the simulated device can load them."""
        if isinstance(value, Tensor):
            parameter = isinstance(value, nn.Parameter)
            return _make_tensor, (
                tensor_data(value),
                value.stride(),
                value.requires_grad,
                parameter,
            )
        if isinstance(value, torch.Generator):
            return _make_generator, (str(value.device), value.get_state().numpy().tobytes())
        if isinstance(value, Path):
            return _make_file, (value.name, value.read_bytes() if value.is_file() else None)
        return super().reducer_override(value)


def pickle_values(value: Any, get_name: Callable[[Any], Any]) -> str:
    """Pickle a value, including the gradients of its tensors, as base64 text."""
    gradients = [
        (t, t.grad) for t in mutable_objects(value) if isinstance(t, Tensor) and t.grad is not None
    ]
    file = io.BytesIO()
    ValuePickler(file, get_name).dump((value, gradients))
    return base64.b64encode(file.getvalue()).decode()


class _ValueUnpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, find: Callable[[Any], Any]) -> None:
        super().__init__(file)
        self._find = find

    def persistent_load(self, name: Any) -> Any:
        return self._find(name)


def unpickle_values(text: str, find: Callable[[Any], Any]) -> Any:
    """Unpickle the output of `pickle_values`. Use this only for trusted data from the judge."""
    value, gradients = _ValueUnpickler(io.BytesIO(base64.b64decode(text)), find).load()
    for tensor, gradient in gradients:
        tensor.grad = gradient
    return value


def _make_tensor(data: Any, stride: tuple[int, ...], gradient: bool, parameter: bool) -> Tensor:
    tensor = make_tensor(*data)
    if tensor.stride() != stride and 0 not in stride:
        strided = torch.empty_strided(tensor.shape, stride, dtype=tensor.dtype)
        tensor = strided.to(tensor.device).copy_(tensor)
    return nn.Parameter(tensor, gradient) if parameter else tensor.requires_grad_(gradient)


def _make_generator(device: str, state: bytes) -> torch.Generator:
    generator = torch.Generator(device)
    generator.set_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))
    return generator


def _make_file(name: str, content: bytes | None) -> Path:
    path = Path(tempfile.mkdtemp()) / name
    if content is not None:
        path.write_bytes(content)
    return path


def encode_state(value: Any, encoder: Encoder) -> Any:
    """Encode the state of a mutable object. Runs in the answer process."""
    encode = encoder.encode
    if isinstance(value, Tensor):
        return [encoder.tensor(value)["T"], encode(value.grad) if value.is_leaf else None]
    if isinstance(value, list | set):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        return [[encode(key), encode(item)] for key, item in value.items()]
    if isinstance(value, Path):
        content = value.read_bytes() if value.is_file() else None
        if content is None or len(content) > _MAX_FILE_BYTES:
            return None
        return base64.b64encode(content).decode()
    attributes = {name: encode(item) for name, item in _own_attributes(value).items()}
    if isinstance(value, nn.Module):
        registered = [value._parameters, value._buffers]
        tensors = [
            {name: encode(item) for name, item in tensors_by_name.items()}
            for tensors_by_name in registered
        ]
        return [value.training, *tensors, attributes]
    state = [[encode(parameter), encode(item)] for parameter, item in value.state.items()]
    return [[encode(group) for group in value.param_groups], state, attributes]


def apply_state(value: Any, state: Any, decoder: Decoder) -> None:
    """Update the judge's object with the output of `encode_state`.

    Raises:
        Malformed: `state` is not a valid state of this object.
    """
    try:
        _apply(value, state, decoder)
    except (TypeError, ValueError, KeyError, AttributeError, RuntimeError, IndexError):
        raise Malformed from None


def _apply(value: Any, state: Any, decoder: Decoder) -> None:
    decode = decoder.decode
    if isinstance(value, Tensor):
        decoder.tensor(state[0], value)
        gradient = decode(state[1])
        if isinstance(gradient, Tensor | None) and value.is_leaf:
            _set_gradient(value, gradient)
    elif isinstance(value, list):
        value[:] = [decode(item) for item in state]
    elif isinstance(value, set):
        new = {decode(item) for item in state}
        value.clear()
        value.update(new)
    elif isinstance(value, dict):
        new = {decode(key): decode(item) for key, item in state}
        value.clear()
        value.update(new)
    elif isinstance(value, Path):
        value.unlink(missing_ok=True)
        if state is not None:
            value.write_bytes(base64.b64decode(state, validate=True))
    elif isinstance(value, nn.Module):
        training, parameters, buffers, attributes = state
        value.training = training is True
        _register(value._parameters, parameters, decoder)
        _register(value._buffers, buffers, decoder)
        _set_attributes(value, attributes, decoder)
    else:
        groups, states, attributes = state
        value.param_groups[:] = [dict(decode(group)) for group in groups]
        new = {decode(parameter): dict(decode(item)) for parameter, item in states}
        value.state.clear()
        value.state.update(new)
        _set_attributes(value, attributes, decoder)


def _set_gradient(tensor: Tensor, gradient: Tensor | None) -> None:
    if gradient is None:
        tensor.grad = None
        return
    # The gradient may be on another device than the moved tensor, and torch rejects that in an
    # assignment. Move the data to the gradient's device during the assignment.
    data = tensor.data
    tensor.data = data.to(gradient.device)
    tensor.grad = gradient.detach()
    tensor.data = data


def _register(registered: dict[str, Any], trees: dict[str, Any], decoder: Decoder) -> None:
    """Replace the registered tensors that the answer's code has replaced."""
    for name, old in registered.items():
        new = decoder.decode(trees.get(name))
        if new is old or not isinstance(new, Tensor | None):
            continue
        parameter = isinstance(old, nn.Parameter) and new is not None
        registered[name] = nn.Parameter(new.detach(), new.requires_grad) if parameter else new


def _set_attributes(value: nn.Module | Optimizer, trees: dict[str, Any], decoder: Decoder) -> None:
    for name, tree in trees.items():
        new = decoder.decode(tree)
        # Use getattr because an unchanged counter may exist only as a class attribute.
        old = getattr(value, name, None)
        if isinstance(new, bool | int | float) and isinstance(old, int | float):
            setattr(value, name, new)
