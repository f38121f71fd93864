"""Find the student's lines in a traceback, the expression that failed in each, and its variables.

Expressions are evaluated without running the student's code: none of their functions, properties
or `__getitem__` methods is called.
"""

import ast
import inspect
import linecache
import sysconfig
import warnings
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Any

import torch
from torch import nn

import simulated_cuda
from helpers.language import translate

MISSING: Any = object()
_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_TENSOR_ATTRIBUTES = ("T", "mT", "H", "mH", "data", "real", "imag", "grad", "device")
_FILES = (Path(__file__).parent, simulated_cuda.__file__, torch.__file__)
_LIBRARIES = [Path(file).resolve().parent for file in _FILES] + [
    Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib")
]


class Source:
    """The text of one cell or file, with its syntax tree and each node's parents."""

    def __init__(self, filename: str, text: str) -> None:
        self.filename, self.text, self.lines = filename, text, text.split("\n")
        self.tree = ast.parse(text)
        nodes = list(ast.walk(self.tree))
        self._parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}

    @classmethod
    @lru_cache(maxsize=8)
    def parse(cls, filename: str, text: str) -> "Source | None":
        """Parse `text`; None if it is empty or not valid Python."""
        try:
            return cls(filename, text) if text.strip() else None
        except (SyntaxError, ValueError):
            return None

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the start and end offsets of `node` in `text`; `ast` counts in UTF-8 bytes."""

        def offset(line: int, column: int) -> int:
            before = sum(len(text) + 1 for text in self.lines[: line - 1])
            return before + len(self.lines[line - 1].encode()[:column].decode())

        return offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)

    def segment(self, node: ast.AST) -> str:
        """Return the code of `node` on one line, as the student wrote it where possible."""
        if getattr(node, "lineno", None) is None or node.end_lineno != node.lineno:
            return ast.unparse(node)
        return self.text[slice(*self.span(node))]

    def parents(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the ancestors of `node`, innermost first."""
        while (node := self._parents.get(node)) is not None:
            yield node

    def statement_of(self, node: ast.AST | None) -> ast.stmt | None:
        """Return the innermost statement that contains `node`, or `node` itself."""
        return next((n for n in [node, *self.parents(node)] if isinstance(n, ast.stmt)), None)

    def find(self, code: CodeType, lasti: int, lineno: int) -> ast.AST | None:
        """Return the node that instruction `lasti` of `code` was computing."""
        first, last, start, end = next(islice(code.co_positions(), lasti // 2, None), (None,) * 4)
        nodes = [n for n in ast.walk(self.tree) if hasattr(n, "lineno")]
        ending = [n for n in nodes if (n.end_lineno, n.end_col_offset) == (last, end)]
        exact = [n for n in ending if (n.lineno, n.col_offset) == (first, start)]
        # An expression statement and its expression have the same position.
        exact.sort(key=lambda node: isinstance(node, ast.stmt))
        # The position of a method call that spans several lines starts at its dot.
        calls = [n for n in ending if isinstance(n, ast.Call) and n.lineno <= first]
        on_line = [n for n in nodes if n.lineno <= lineno <= n.end_lineno]
        statements = [n for n in on_line if isinstance(n, ast.stmt)]
        node = next(iter([*exact, *calls, *statements[-1:]]), None)
        stores = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
        return self.statement_of(node) if stores else node


@dataclass(frozen=True)
class CodeFrame:
    """A line of the student's code in the traceback of the error."""

    frame: FrameType
    lineno: int
    source: Source | None  # None if it is not available; then the next two are None too
    node: ast.AST | None  # the expression that was being computed
    statement: ast.stmt | None  # the statement around it
    names: ChainMap[str, object]  # the variables in scope and their values

    @property
    def in_function(self) -> bool:
        """Whether the line is inside a function and has local variables."""
        return bool(self.frame.f_code.co_flags & inspect.CO_OPTIMIZED)

    @property
    def arguments(self) -> list[str]:
        """The names of the function's parameters; empty outside a function."""
        names = inspect.getargs(self.frame.f_code)
        return [name for name in (*names.args, names.varargs, names.varkw) if name]

    @property
    def where(self) -> str:
        """The line's number, the file unless it is a notebook cell, and the function."""
        path = Path(self.frame.f_code.co_filename)
        where = translate("line {number}", number=self.lineno)
        if not (path.name.startswith("<") or path.parent.name.startswith("ipykernel_")):
            where = translate("{line} of {file}", line=where, file=path.name)
        if not self.in_function:
            return where
        return translate("{line}, in `{function}`", line=where, function=self.frame.f_code.co_name)

    @property
    def line(self) -> str:
        """The failing line without indentation; a multi-line statement as one line."""
        if self.statement is not None and not hasattr(self.statement, "body"):
            return self.source.segment(self.statement)
        lines = self.source.lines if self.source else []
        return lines[self.lineno - 1].strip() if 0 < self.lineno <= len(lines) else ""

    def nodes_above(self, kind: type[ast.AST]) -> list[Any]:
        """Return the nodes of a kind above the failing line, in the same function or cell."""

        def scope_of(node: ast.AST) -> ast.AST:
            kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module
            return next(n for n in self.source.parents(node) if isinstance(n, kinds))

        scope, end = scope_of(self.statement), self.statement.lineno
        nodes = (node for node in ast.walk(scope) if isinstance(node, kind) and node.lineno < end)
        return [node for node in nodes if scope_of(node) is scope]

    def definition_of(self, name: str) -> ast.Assign | None:
        """Return the last `name = ...` above the failing line, in the same function or cell."""
        nodes = [n for n in self.nodes_above(ast.Assign) if ast.unparse(n.targets[0]) == name]
        return max(nodes, key=lambda node: node.lineno, default=None)

    def value_of(self, node: ast.AST | None) -> Any:
        """Return the value of an expression; MISSING if evaluating it would run code."""
        return _value_of(node, self.names)


def student_frames(traceback: TracebackType | None) -> list[CodeFrame]:
    """Return the frames of the student's code in `traceback`, innermost first."""
    frames: list[CodeFrame] = []
    timed_code = ""
    while traceback is not None:
        frame = traceback.tb_frame
        if not is_library(frame.f_code.co_filename):
            new = _code_frame(traceback, timed_code)
            if frame.f_code.co_name in _COMPREHENSIONS and frames:
                # A generator expression, or before Python 3.12 any comprehension, has its own
                # frame; to the student it is part of the enclosing line.
                outer = frames.pop()
                names = ChainMap(frame.f_locals, *outer.names.maps)
                new = replace(new, frame=outer.frame, names=names)
            frames.append(new)
        elif frame.f_code.co_name == "time" and isinstance(frame.f_locals.get("expr"), str):
            # No other variable has the text of a %%time cell.
            timed_code = frame.f_locals["expr"]
        traceback = traceback.tb_next
    return frames[::-1]


def _code_frame(traceback: TracebackType, timed_code: str) -> CodeFrame:
    frame, lineno = traceback.tb_frame, traceback.tb_lineno
    filename = frame.f_code.co_filename
    text = "".join(linecache.getlines(filename, frame.f_globals))
    source = Source.parse(filename, text or (timed_code if filename.startswith("<timed") else ""))
    node = source.find(frame.f_code, traceback.tb_lasti, lineno) if source else None
    statement = source.statement_of(node) if node else None
    # Since Python 3.12, a comprehension has no frame, and its variables are gone.
    has_frame = frame.f_code.co_name in _COMPREHENSIONS or node is None
    outer = () if has_frame else source.parents(node)
    loops = [loop for part in outer for loop in getattr(part, "generators", ())]
    gone = {getattr(n, "id", ""): MISSING for loop in loops for n in ast.walk(loop.target)}
    names = ChainMap(gone, frame.f_locals, frame.f_globals)
    return CodeFrame(frame, lineno, source if node else None, node, statement, names)


def is_library(filename: str) -> bool:
    """Return whether `filename` belongs to Python, the course, or an installed package."""
    if filename.startswith("<"):
        return filename.startswith(("<frozen", "<eval_with_key", "<__array_function__"))
    path = Path(filename).resolve()
    is_package = bool({"site-packages", "dist-packages"} & set(path.parts))
    return is_package or any(path.is_relative_to(folder) for folder in _LIBRARIES)


def _value_of(node: ast.AST | None, names: Mapping[str, object]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return names.get(name, MISSING)
        case ast.Attribute(value=base, attr=attr):
            return _attribute(_value_of(base, names), attr)
        case ast.Subscript(value=base, slice=key):
            return _item(_value_of(base, names), _value_of(key, names))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
        case ast.Call(func=function, args=[ast.Constant(value=name)], keywords=[]):
            return as_device(name) if _value_of(function, names) is torch.device else MISSING
    return MISSING


def _attribute(base: Any, attr: str) -> Any:
    if isinstance(base, torch.Tensor):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # reading .grad of a non-leaf tensor warns
            return getattr(base, attr) if attr in _TENSOR_ATTRIBUTES else MISSING
    if isinstance(base, nn.Module):
        tables = ChainMap(vars(base), base._parameters, base._buffers, base._modules)
        return tables.get(attr, MISSING)
    if isinstance(base, ModuleType):
        return vars(base).get(attr, MISSING)
    value = inspect.getattr_static(base, attr, MISSING)
    return MISSING if hasattr(type(value), "__get__") else value


def _item(base: Any, key: Any) -> Any:
    if isinstance(base, nn.Sequential | nn.ModuleList | nn.ModuleDict):
        base = base._modules if isinstance(key, str) else list(base._modules.values())
    kind = next((kind for kind in (dict, list, tuple) if isinstance(base, kind)), None)
    try:
        return kind.__getitem__(base, key) if kind else MISSING
    except (LookupError, TypeError):
        return MISSING


def as_device(value: Any) -> torch.device | None:
    """Return the device of `value`: a device, its name or index, or a tensor; None for others.

    A GPU without an index, as in "cuda", gets index 0.
    """
    if isinstance(value, torch.Tensor | torch.Generator):
        value = value.device
    if isinstance(value, bool) or not isinstance(value, str | int | torch.device):
        return None
    try:
        device = torch.device(value)
    except RuntimeError:
        return None
    has_index = device.type in ("cpu", "meta") or device.index is not None
    return device if has_index else torch.device(device.type, 0)
