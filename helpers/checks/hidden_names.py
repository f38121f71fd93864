"""Finds the name that a notebook has covered: `torch = 5`, `sum = 0`."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

_MODULES = ("torch", "nn", "np", "math", "time")
# IPython puts its own into every notebook.
_COVERED_BY_IPYTHON = ("open", "exit", "quit", "input", "display")


def hidden_name(function: Any, *, any_value: bool) -> tuple[str, Any] | None:
    """A name that `function` uses and that no longer means the module or built-in it should.

    Returns the name and what it means now. With `any_value`, a function or class that covers it
    counts too (of a module's name, one of the notebook's own: `from time import time` is nothing
    to complain of); otherwise a plain value only.
    """
    function = inspect.unwrap(function) if callable(function) else function
    function = getattr(function, "__func__", function)
    if isinstance(function, type):
        function = vars(function).get("__init__")
    if not isinstance(function, FunctionType):
        return None
    names = function.__globals__
    for name in dict.fromkeys(_names_used(function, set())):
        # A class has `__name__` among its names, which every module has for itself.
        if name not in names or name.startswith("__"):
            continue
        value = names[name]
        if name in _MODULES:
            own = getattr(value, "__module__", None) == names.get("__name__")
            covered = not inspect.ismodule(value) and (not callable(value) or (any_value and own))
        elif name in vars(builtins) and name not in _COVERED_BY_IPYTHON:
            covered = value is not vars(builtins)[name] and (any_value or not callable(value))
        else:
            covered = False
        if covered:
            return name, value
    return None


def _names_used(function: FunctionType, seen: set[int]) -> Iterator[str]:
    """The global names in a function and in those of the notebook that it calls."""
    if id(function) in seen:
        return
    seen.add(id(function))
    for name in _names_in(function.__code__):
        yield name
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType) and value.__globals__ is function.__globals__:
            yield from _names_used(value, seen)


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)
