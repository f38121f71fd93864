"""Find names that a notebook has reassigned, as in `torch = 5` or `sum = 0`."""

import builtins
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

_MODULES = ("torch", "nn", "np", "math", "time")
# IPython replaces these in every notebook.
_REPLACED_BY_IPYTHON = ("open", "exit", "quit", "input", "display")


def shadowed_name(function: Any, *, include_callables: bool) -> tuple[str, Any] | None:
    """Return the name and value of a reassigned module or built-in that `function` uses.

    Returns None if there is none. A name with a non-callable value always counts. With
    `include_callables`, a name bound to a function or class counts too. If the name is that of a
    module, the function or class must be defined in the notebook, because `from time import time`
    is fine.
    """
    function = inspect.unwrap(function) if callable(function) else function
    function = getattr(function, "__func__", function)
    if isinstance(function, type):
        function = vars(function).get("__init__")
    if not isinstance(function, FunctionType):
        return None
    names = function.__globals__
    for name in dict.fromkeys(_names_used(function, set())):
        # A class body reads `__name__`, which is set in every module.
        if name not in names or name.startswith("__"):
            continue
        value = names[name]
        if name in _MODULES:
            from_notebook = getattr(value, "__module__", None) == names.get("__name__")
            is_reassigned = not inspect.ismodule(value) and (
                not callable(value) or (include_callables and from_notebook)
            )
        elif name in vars(builtins) and name not in _REPLACED_BY_IPYTHON:
            is_reassigned = value is not vars(builtins)[name] and (
                include_callables or not callable(value)
            )
        else:
            is_reassigned = False
        if is_reassigned:
            return name, value
    return None


def _names_used(function: FunctionType, visited: set[int]) -> Iterator[str]:
    """Yield the global names used by a function and by the notebook functions that it calls."""
    if id(function) in visited:
        return
    visited.add(id(function))
    for name in _names_in(function.__code__):
        yield name
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType) and value.__globals__ is function.__globals__:
            yield from _names_used(value, visited)


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)
