"""Find names that a notebook has reassigned, as in `torch = 5` or `sum = 0`."""

import builtins
import dis
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

_MODULES = ("torch", "nn", "np", "math", "time")
# IPython replaces these in every notebook.
_READS = ("LOAD_GLOBAL", "LOAD_NAME")
_REPLACED_BY_IPYTHON = ("open", "exit", "quit", "input", "display")


def shadowed_name(function: Any, *, include_callables: bool) -> tuple[str, Any] | None:
    """Return the name and value of a reassigned module or built-in that `function` uses, or None.

    A name with a non-callable value always counts. With `include_callables`, a name bound to a
    function or class counts too. If the name is that of a module, the function or class must be
    defined in the notebook, because `from time import time` is fine.
    """
    function = inspect.unwrap(function) if callable(function) else function
    function = getattr(function, "__func__", function)
    function = vars(function).get("__init__") if isinstance(function, type) else function
    if not isinstance(function, FunctionType):
        return None
    names = function.__globals__
    for name in _names_used(function.__code__, names, set()):
        value = names[name]
        original = vars(builtins).get(name)
        if name in _MODULES and not inspect.ismodule(value):
            counts = getattr(value, "__module__", None) == names.get("__name__")
        elif original is None or value is original or name in _REPLACED_BY_IPYTHON:
            continue
        else:
            counts = True
        if not callable(value) or (include_callables and counts):
            return name, value
    return None


def _names_used(code: CodeType, names: dict[str, Any], visited: set[CodeType]) -> Iterator[str]:
    """Yield the global names that code uses, and the notebook's functions that it calls."""
    visited.add(code)
    # Not `co_names`, which has attributes too. A class body reads `__name__`, set in every module.
    read = [i.argval for i in dis.get_instructions(code) if i.opname in _READS]
    own = [n for n in dict.fromkeys(read) if n in names and not n.startswith("__")]
    yield from own
    functions = [f for f in map(names.get, own) if isinstance(f, FunctionType)]
    codes = [f.__code__ for f in functions if f.__globals__ is names]
    for inner in [*codes, *(c for c in code.co_consts if isinstance(c, CodeType))]:
        if inner not in visited:
            yield from _names_used(inner, names, visited)
