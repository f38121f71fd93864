"""Short descriptions of values and errors for the messages of checks."""

import inspect
from contextlib import suppress
from typing import Any

import torch

from helpers.language import translate

_MAX_ERROR_LENGTH = 200


def one_line(error: BaseException) -> str:
    """Return the type and message of an error on one line, truncated, without a final period."""
    text = ""
    with suppress(Exception):  # the `__str__` of a student's own class may fail
        text = " ".join(str(error).split())
    text = text if len(text) <= _MAX_ERROR_LENGTH else text[: _MAX_ERROR_LENGTH - 4] + " ..."
    return f"{type(error).__name__}: {text}".rstrip(": .")


def describe(value: Any) -> str:
    """Return a short description of a value: "an int", "a list of 3", "a function of your own"."""
    if value is None:
        return "None"
    if inspect.isfunction(value):
        return translate("a function of your own")
    if isinstance(value, torch.Tensor):
        shape, dtype = tuple(value.shape), value.dtype
        return translate("a tensor of shape {shape} and type {dtype}", shape=shape, dtype=dtype)
    kind = type(value).__name__
    if isinstance(value, list | tuple | set):
        return translate("a {kind} of {count}", kind=kind, count=len(value))
    if kind[0].lower() in "aeiou":
        return translate("an {kind}", kind=kind)
    return translate("a {kind}", kind=kind)


def format_gpu_count(count: int) -> str:
    """Return "no GPU", "one GPU", "2 GPUs", ..."""
    if count < 2:
        return translate("one GPU") if count else translate("no GPU")
    return translate("{count} GPUs", count=count)


def is_number(value: Any) -> bool:
    """Return whether a value is a Python int or float, but not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_int(value: Any) -> bool:
    """Return whether a value is a Python int, but not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)
