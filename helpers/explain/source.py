"""The student's own line: which frame of a traceback is theirs, and what stands in its source."""

from __future__ import annotations

import ast
import inspect
import linecache
import sysconfig
from collections import ChainMap
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, TracebackType

import torch

import simulated_cuda

# The order of `co_positions`.
_POSITION = ("lineno", "end_lineno", "col_offset", "end_col_offset")
_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_OWN = str(Path(__file__).resolve().parents[1])
_SIMULATOR = str(Path(simulated_cuda.__file__).resolve().parent)
_LIBRARIES = tuple(
    str(Path(folder).resolve())
    for folder in (
        Path(torch.__file__).parent,
        _OWN,
        _SIMULATOR,
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    )
)


class Source:
    """The text of one cell or file, its syntax tree, and the way from a node to its parents."""

    def __init__(self, filename: str, text: str) -> None:
        self.filename = filename
        self.text = text
        self.lines = text.split("\n")
        self.tree = ast.parse(text)
        self._parents = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }

    @classmethod
    def of(cls, filename: str, module_globals: dict | None = None) -> Source | None:
        """Read what Python knows of `filename`; None if it is gone or is no Python."""
        return cls.parse(filename, "".join(linecache.getlines(filename, module_globals)))

    @classmethod
    @lru_cache(maxsize=8)
    def parse(cls, filename: str, text: str) -> Source | None:
        """Read `text`, which `filename` is said to hold; None if it is empty or no Python."""
        try:
            return cls(filename, text) if text.strip() else None
        except (SyntaxError, ValueError):
            return None

    def segment(self, node: ast.AST) -> str:
        """Return the text of `node`, on one line; as the student wrote it, if it is on one."""
        line = getattr(node, "lineno", None)
        if line is None or node.end_lineno != line:
            return ast.unparse(node)
        # Python counts columns in bytes.
        return self.lines[line - 1].encode()[node.col_offset : node.end_col_offset].decode()

    def parents(self, node: ast.AST) -> list[ast.AST]:
        """Return what `node` stands in, from the inside out."""
        chain = []
        while (node := self._parents.get(node)) is not None:
            chain.append(node)
        return chain

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        """Return the innermost statement that `node` stands in (itself, if it is one)."""
        return next((n for n in [node, *self.parents(node)] if isinstance(n, ast.stmt)), None)

    def scope_of(self, node: ast.AST) -> ast.AST:
        """Return the function that `node` stands in, else the whole tree."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        return next((n for n in self.parents(node) if isinstance(n, kinds)), self.tree)

    def find(self, code: CodeType, lasti: int, lineno: int) -> ast.AST | None:
        """Return the node that the instruction `lasti` of `code` was computing."""
        position = next(islice(code.co_positions(), lasti // 2, None), (None,) * 4)
        if None not in position:
            exact = [
                node
                for node in ast.walk(self.tree)
                if tuple(getattr(node, name, None) for name in _POSITION) == position
            ]
            if exact:  # of a statement that is an expression only: the expression
                node = next((node for node in exact if isinstance(node, ast.expr)), exact[0])
                stores = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
                return self.statement_of(node) if stores else node
            # A method call over several lines is said to begin at its dot.
            calls = [
                node
                for node in ast.walk(self.tree)
                if isinstance(node, ast.Call)
                and (node.end_lineno, node.end_col_offset) == (position[1], position[3])
                and node.lineno <= position[0]
            ]
            if calls:
                return calls[0]
        inside = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.stmt) and node.lineno <= lineno <= (node.end_lineno or lineno)
        ]
        return inside[-1] if inside else None


@dataclass(frozen=True)
class Site:
    """A place in the student's code that the error passed through.

    `node` is the expression that was being computed, `statement` the one it stands in; both are
    None where the source is not to be had. `names` is what the names there meant, `deeper` the
    frames of libraries that were called from here.
    """

    frame: FrameType
    lineno: int
    source: Source | None
    node: ast.AST | None
    statement: ast.stmt | None
    names: ChainMap[str, object]
    deeper: list[FrameType] = field(default_factory=list)

    @property
    def in_function(self) -> bool:
        """Whether the line stands in a function, so that its names are the function's own."""
        return bool(self.frame.f_code.co_flags & inspect.CO_OPTIMIZED)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the function's arguments; none for a line of a cell or file."""
        code = self.frame.f_code
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & inspect.CO_VARARGS)
        count += bool(code.co_flags & inspect.CO_VARKEYWORDS)
        return code.co_varnames[:count] if self.in_function else ()

    @property
    def where(self) -> str:
        """Say where the line is: its number, the file if it is no cell, and the function."""
        path = Path(self.frame.f_code.co_filename)
        cell = path.name.startswith("<") or path.parent.name.startswith("ipykernel_")
        parts = [f"line {self.lineno}{'' if cell else f' of {path.name}'}"]
        if self.in_function:
            parts.append(f"in `{self.frame.f_code.co_name}`")
        return ", ".join(parts)

    @property
    def line(self) -> str:
        """The failing line without its indentation; a statement over several lines as one."""
        if self.statement is not None and not hasattr(self.statement, "body"):
            return self.source.segment(self.statement)
        lines = self.source.lines if self.source else []
        return lines[self.lineno - 1].strip() if 0 < self.lineno <= len(lines) else ""


def student_sites(traceback: TracebackType | None) -> list[Site]:
    """List the student's places in `traceback`, the innermost first."""
    sites: list[Site] = []
    timed = ""
    while traceback is not None:
        frame = traceback.tb_frame
        if not is_library(frame.f_code.co_filename):
            site = _site(frame, traceback.tb_lasti, traceback.tb_lineno, timed)
            if frame.f_code.co_name in _COMPREHENSIONS and sites:
                # Before Python 3.12 a comprehension has a frame of its own; to the student it is
                # a part of the line that it stands in.
                outer = sites.pop()
                names = ChainMap(frame.f_locals, *outer.names.maps)
                site = replace(site, frame=outer.frame, names=names)
            sites.append(site)
        else:
            if sites:
                sites[-1].deeper.append(frame)
            if frame.f_code.co_name == "time" and isinstance(frame.f_locals.get("expr"), str):
                timed = frame.f_locals["expr"]  # the text of a cell under %%time is only here
        traceback = traceback.tb_next
    return sites[::-1]


def _site(frame: FrameType, lasti: int, lineno: int, timed: str) -> Site:
    filename = frame.f_code.co_filename
    source = Source.of(filename, frame.f_globals)
    if source is None and timed and filename.startswith("<timed"):
        source = Source.parse(filename, timed)
    node = source.find(frame.f_code, lasti, lineno) if source else None
    statement = source.statement_of(node) if source and node else None
    names = ChainMap(frame.f_locals, frame.f_globals)
    return Site(frame, lineno, source, node, statement, names)


def is_library(filename: str) -> bool:
    """Say whether `filename` is Python's, torch's, this package's or another installed one's."""
    if filename.startswith("<"):
        return filename.startswith(("<frozen", "<eval_with_key", "<__array_function__"))
    path = Path(filename).resolve()
    if {"site-packages", "dist-packages"} & set(path.parts):
        return True
    return str(path).startswith(_LIBRARIES)


def is_said_by_hand(error: Exception, site: Site) -> bool:
    """Say whether a `raise` or `assert` of the student's, or of this package, made the error."""
    if site.deeper:
        frame = site.deeper[-1]
        if not str(Path(frame.f_code.co_filename).resolve()).startswith((_OWN, _SIMULATOR)):
            return False
        site = _site(frame, frame.f_lasti, frame.f_lineno, "")
    # Of an assertion, Python names the statement or the comparison, which one by its version.
    asserted = isinstance(error, AssertionError) and isinstance(site.statement, ast.Assert)
    return asserted or isinstance(site.node, ast.Raise)
