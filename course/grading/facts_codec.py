"""Facts as text: encoded in the sandbox, decoded in the grader. Nothing is ever unpickled.

The text is a line of JSON without spaces, followed by the tensors in the format of safetensors, as
base64. In JSON, a list is a list, and everything else that JSON lacks is an object with one key,
the name of its type.

`decode` only guarantees the types. Student's code that manipulates its process can falsify what is
measured there, such as copies, devices or seconds (docs/for_instructors.md has the list), but not
values, because it does not know what is right for random inputs. The data of a tensor is read with
the getters of `torch.Tensor` itself, so a subclass cannot falsify it.
"""

import base64
import json
from dataclasses import fields
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import safetensors.torch
import torch

from helpers.checks.collecting import Copy, Error, Facts
from helpers.checks.hints import GENERAL
from helpers.checks.plain import Other, PlainModule, PlainTensor, describe

MAX_BYTES = 24 << 20
_MAX_ITEMS = 1_000_000
_MAX_DEPTH = 40
# Largest absolute value of an int: the judge must be able to calculate with it.
_MAX_INT = 10**1000
_CONTAINERS = {kind.__name__: kind for kind in (tuple, set, frozenset)}
_CLASSES = {kind.__name__: kind for kind in (Copy, Error, Facts, Other, PlainModule, PlainTensor)}
# The judge sets these, or only a collector sees them.
_NOT_SENT = {"result", "case", "right", "outcome"}
_TYPES = {
    kind: {f.name: get_type_hints(kind)[f.name] for f in fields(kind) if f.name not in _NOT_SENT}
    for kind in _CLASSES.values()
}


class Malformed(Exception):
    """The text is not that of facts, or it is too large."""


def encode(facts: Facts) -> str:
    """Return facts as text without line breaks.

    Raises:
        Malformed: the text is longer than `MAX_BYTES`.
    """
    tensors: dict[str, torch.Tensor] = {}
    with torch._C.DisableTorchFunction():
        tree = json.dumps(_encode(facts, tensors), separators=(",", ":"))
        size = len(tree) + sum(tensor.nbytes for tensor in tensors.values()) * 4 // 3
        if size > MAX_BYTES:
            raise Malformed("too much data")
        content = safetensors.torch.save(tensors)
    return f"{base64.b64encode(content).decode()} {tree}"


def _encode(value: Any, tensors: dict[str, torch.Tensor]) -> Any:
    kind = type(value)
    if kind is int and abs(value) >= _MAX_INT:
        return _encode(Other(describe(value)), tensors)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is torch.Tensor:
        name = str(len(tensors))
        tensors[name] = value.clone(memory_format=torch.contiguous_format)  # shares no memory
        return {"Tensor": name}
    if kind in (torch.device, torch.dtype):
        return {kind.__name__: str(value).removeprefix("torch.")}
    if kind is dict:
        pairs = value.items()
        return {"dict": [[_encode(item, tensors) for item in pair] for pair in pairs]}
    if _CLASSES.get(kind.__name__) is kind:
        return {kind.__name__: [_encode(getattr(value, name), tensors) for name in _TYPES[kind]]}
    items = [_encode(item, tensors) for item in value]
    return items if kind is list else {kind.__name__: items}


def decode(text: str) -> Facts:
    """Return the facts that `encode` has written.

    Raises:
        Malformed: the text is not valid. The student's code may have written it.
    """
    if len(text) > 2 * MAX_BYTES or text.count(",") > _MAX_ITEMS:
        raise Malformed("too much data")
    try:
        content, tree = text.split(" ", 1)
        tensors = safetensors.torch.load(base64.b64decode(content, validate=True))
        facts = _decode(json.loads(tree), tensors)
        if not _has_type(facts, Facts):
            raise Malformed
    except Exception:  # whatever is wrong with the text is the student's mistake
        raise Malformed("not plain data") from None
    return facts


def _decode(tree: Any, tensors: dict[str, torch.Tensor], depth: int = 0) -> Any:
    if depth > _MAX_DEPTH or (isinstance(tree, int) and abs(tree) >= _MAX_INT):
        raise Malformed
    if isinstance(tree, list):
        return [_decode(item, tensors, depth + 1) for item in tree]
    if not isinstance(tree, dict):
        return tree
    [(name, content)] = tree.items()
    if name == "Tensor":
        return tensors[content]
    if name == "device":
        return torch.device(content)
    if name == "dtype":
        dtype = getattr(torch, content)
        if not isinstance(dtype, torch.dtype):
            raise Malformed
        return dtype
    items = [_decode(item, tensors, depth + 1) for item in content]
    if name == "dict":
        return dict(items)
    if name in _CONTAINERS:
        return _CONTAINERS[name](items)
    kind = _CLASSES[name]
    value = kind(**dict(zip(_TYPES[kind], items, strict=True)))
    if not all(_has_type(getattr(value, name), type) for name, type in _TYPES[kind].items()):
        raise Malformed
    if kind is Error:
        GENERAL[value.hint].wrong.format(name="", **value.values)
    return value


def _has_type(value: Any, annotation: Any) -> bool:
    """Return whether a value has exactly the type of an annotation, including its items."""
    kind, parameters = get_origin(annotation), get_args(annotation)
    if annotation is Any or kind is None:
        return annotation is Any or type(value) is annotation
    if kind is UnionType:
        return any(_has_type(value, option) for option in parameters)
    if type(value) is not kind:
        return False
    if kind is dict:
        return all(_has_type(item, tuple[parameters]) for item in value.items())
    if kind is tuple and parameters[-1] is not ...:
        return len(value) == len(parameters) and all(map(_has_type, value, parameters))
    return all(_has_type(item, parameters[0]) for item in value)
