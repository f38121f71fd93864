"""Finds uses of Python internals or of the checks' internals in the syntax tree of an answer.

The judge runs in a separate process, but some measurements, such as copies between devices, are
made in the answer process. Code that manipulates Python internals could falsify them. No exercise
needs such code, so an answer that uses it gets no points until a person has reviewed it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from IPython.core.inputtransformer2 import TransformerManager

_MODULES = {
    "gc", "inspect", "ctypes", "_ctypes", "cffi", "importlib", "builtins", "marshal", "mock",
    "helpers.checks", "course", "simulated_cuda", "IPython.core", "unittest.mock", "code", "codeop",
    "_thread", "faulthandler", "bdb", "pdb", "runpy", "pkgutil", "zipimport", "dis", "opcode",
    "torch.overrides", "torch.utils._python_dispatch", "torch._C", "pickle", "_pickle",
    "cloudpickle", "dill", "doctest", "profile", "cProfile", "trace",
}  # fmt: skip
_NAMES = {
    "_getframe", "_current_frames", "settrace", "setprofile", "get_objects", "get_referrers",
    "get_referents", "meta_path", "path_hooks", "path_importer_cache", "tb_frame", "f_back",
    "f_locals", "f_globals", "f_code", "gi_frame", "cr_frame", "ag_frame", "attrgetter",
    "FunctionType", "CodeType", "addaudithook", "ask_exit", "user_ns", "_showtraceback",
    "__code__", "__closure__", "__globals__", "__builtins__", "__subclasses__", "__mro__",
    "__bases__", "__base__", "__dict__", "__getattribute__", "__import__", "__loader__", "__spec__",
    "__traceback__", "__defaults__", "__kwdefaults__", "__torch_function__", "__torch_dispatch__",
    "__set_name__", "__instancecheck__", "__subclasscheck__", "TorchFunctionMode",
    "TorchDispatchMode", "as_subclass", "new_class", "methodcaller", "get_type_hints",
}  # fmt: skip
_CALLS = {
    "exec", "eval", "compile", "globals", "vars", "setattr", "delattr", "getattr", "breakpoint",
}  # fmt: skip
# Magics that run other code, and the IPython methods that run magics.
_MAGICS = {"run", "load_ext", "load", "%run", "%load_ext", "%load"}
_SHELL_METHODS = {"run_line_magic", "run_cell_magic", "system", "getoutput"}
# A subclass of these could override comparison operators to pass a check.
_COMPARED_TYPES = {
    "Tensor", "Parameter", "ndarray", "int", "float", "str", "list", "tuple", "dict", "set",
}  # fmt: skip
# An answer may change settings under `torch.backends`.
_SETTINGS = "backends"


# A line that IPython may rewrite, such as a magic, a shell command or a help request.
_IPYTHON_LINE = re.compile(r"^[^\S\n]*[%!?,;/]|=\s*[%!]|\?\s*$", re.MULTILINE)
# IPython parses the whole cell again for each such line, so the time grows with lines times length.
_MAX_CHARACTERS_READ = 300_000
# Maximum depth of magics inside magics, such as `%time %time x`.
_MAX_NESTED_MAGICS = 5


def can_be_analyzed(sources: Iterable[str]) -> bool:
    """Return whether IPython can parse all these cells in a few seconds."""
    read = sum((len(_IPYTHON_LINE.findall(source)) + 1) * len(source) for source in sources)
    return read <= _MAX_CHARACTERS_READ


def uses_of_internals(source: str, depth: int = 0) -> list[str]:
    """Return the uses of internals in a cell, such as "line 3: gc"; at most five.

    `depth` is the number of magics that the cell is inside of.
    """
    if depth > _MAX_NESTED_MAGICS or not can_be_analyzed([source]):
        return ["code that cannot be analyzed"]
    try:
        tree = ast.parse(TransformerManager().transform_cell(source))
        return _find_uses(tree, depth)
    except (SyntaxError, ValueError):
        return []  # a cell with a syntax error does not run
    except (RuntimeError, MemoryError):  # too many nested blocks or magics for the parser
        return ["code that cannot be analyzed"]


def _find_uses(tree: ast.AST, depth: int) -> list[str]:
    imported = {name for node in ast.walk(tree) for name in _imported_names(node)} | {"torch", "nn"}
    imported |= _aliases(tree, imported)
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    # Direct calls of these names are checked below. Any other use, such as an alias, is reported.
    allowed_ids = {id(function) for function in calls}
    # `check.exercise_N` is the only allowed use of the lab's checks module.
    allowed_ids |= {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr.startswith("exercise_")
    }
    # The `get_ipython()` calls that IPython generates for magics.
    magic_ids = {
        id(function.value.func)
        for function in calls
        if isinstance(function, ast.Attribute) and function.attr in _SHELL_METHODS
        if isinstance(function.value, ast.Call)
    }
    uses = {
        (node.lineno, node.id)
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        if (node.id in {"check", *_CALLS} and id(node) not in allowed_ids)
        or (node.id == "get_ipython" and id(node) not in magic_ids)
    }
    uses |= {(line, f"{text} = ...") for line, text in _replaced_methods(tree)}
    uses |= {
        (getattr(node, "lineno", 1), use)
        for node in ast.walk(tree)
        for use in _uses(node, imported, depth)
    }
    return [f"line {line}: {use}" for line, use in sorted(uses)[:5]]


def _imported_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield (alias.asname or alias.name).split(".")[0]


def _aliases(tree: ast.AST, imported: set[str]) -> set[str]:
    """Return the variables that may refer to an imported module or class, such as `torch.Tensor`.

    A change to one of these changes the module or class, so it can falsify measurements.
    """
    names = set()
    for node in ast.walk(tree):
        value = getattr(node, "iter" if isinstance(node, ast.For) else "value", None)
        if not isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.For):
            continue
        if value is None or not _refers_to_class(value, imported):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        parts = [part for target in targets for part in ast.walk(target)]
        names |= {part.id for part in parts if isinstance(part, ast.Name)}
    return names


def _refers_to_class(value: ast.expr, imported: set[str]) -> bool:
    """Return whether an expression is a class or a module, or a list or tuple with one."""
    if isinstance(value, ast.Tuple | ast.List):
        return any(_refers_to_class(item, imported) for item in value.elts)
    if isinstance(value, ast.IfExp):
        return any(_refers_to_class(item, imported) for item in (value.body, value.orelse))
    if isinstance(value, ast.NamedExpr):
        return _refers_to_class(value.value, imported)
    if isinstance(value, ast.Call):
        return _last_name(value.func) == "type"
    if not isinstance(value, ast.Name | ast.Attribute):
        return False
    return _last_name(value) == "__class__" or (
        _root(value) in imported and _SETTINGS not in ast.unparse(value)
    )


def _replaced_methods(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the attributes of other objects to which the code assigns a function or a property."""
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign):
            continue
        value = node.value
        is_function = isinstance(value, ast.Lambda) or (
            isinstance(value, ast.Name) and value.id in functions
        )
        is_property = isinstance(value, ast.Call) and _last_name(value.func) == "property"
        for target in node.targets:
            own = _root(target) == "self"
            if isinstance(target, ast.Attribute) and not own and (is_function or is_property):
                yield target.lineno, ast.unparse(target)


def _uses(node: ast.AST, imported: set[str], depth: int) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        base = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            full_name = f"{base}.{alias.name}".strip(".")
            if any(f"{full_name}.".startswith(f"{module}.") for module in _MODULES):
                yield full_name
            elif alias.name in _NAMES:
                yield alias.name
    elif isinstance(node, ast.Attribute):
        if node.attr in _NAMES or (node.attr in _MODULES and _root(node) in imported):
            yield node.attr
        elif node.attr == "modules" and _last_name(node.value) == "sys":
            yield "sys.modules"
        elif node.attr == "checks" and _root(node) == "helpers":
            yield "helpers.checks"
        elif _is_private(node.attr) and getattr(node.value, "id", "os") in imported - {"os"}:
            yield ast.unparse(node)
        elif isinstance(node.ctx, ast.Store | ast.Del):
            text = ast.unparse(node)
            is_special = node.attr.startswith("__")
            is_class = _refers_to_class(node.value, imported)
            is_imported = is_class or _root(node) in imported
            if is_special or (is_imported and f".{_SETTINGS}." not in text):
                yield f"{text} = ..."
    elif isinstance(node, ast.Name) and node.id in _NAMES:
        yield node.id
    elif isinstance(node, ast.Call):
        yield from _uses_of_call(node, imported, depth)
    elif isinstance(node, ast.ClassDef):
        for base in node.bases:
            if _last_name(base) in _COMPARED_TYPES:
                yield f"class {node.name}({ast.unparse(base)})"
        if node.keywords:
            yield f"class {node.name}(metaclass=...)"
    elif isinstance(node, ast.FunctionDef) and node.name in {*_NAMES, "__class__"}:
        yield f"def {node.name}"
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        if node.value in _NAMES or node.value in {"gc", "inspect", "ctypes", "importlib"}:
            yield repr(node.value)
        elif "/proc/" in node.value or "helpers/checks" in node.value:
            yield "a path into the process or the checks"


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _uses_of_call(node: ast.Call, imported: set[str], depth: int) -> Iterator[str]:
    function = node.func
    if isinstance(function, ast.Attribute) and _root(function) is None and node.args:
        # Also inspect the code that is passed to a magic such as %timeit or %%capture.
        shell = function.value
        if isinstance(shell, ast.Call) and _last_name(shell.func) == "get_ipython":
            if isinstance(node.args[0], ast.Constant) and node.args[0].value in _MAGICS:
                yield f"%{node.args[0].value}"
            for argument in node.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield from uses_of_internals(argument.value, depth + 1)
        return
    if not isinstance(function, ast.Name):
        return
    if function.id == "type" and len(node.args) == 3:
        yield "type() with three arguments"
    if function.id not in _CALLS:
        return
    if function.id in ("getattr", "setattr", "delattr"):
        is_literal = len(node.args) > 1 and isinstance(node.args[1], ast.Constant)
        is_self = bool(node.args) and getattr(node.args[0], "id", "") == "self"
        if (function.id == "getattr" and is_literal) or (is_self and "self" not in imported):
            return
    yield f"{function.id}()"


def _last_name(node: ast.AST) -> str:
    """Return the name `c` in `a.b.c`; "" if the expression does not end with a name."""
    return getattr(node, "attr", getattr(node, "id", ""))


def _root(node: ast.AST) -> str | None:
    """Return the leftmost name in `a.b.c`; None if there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
