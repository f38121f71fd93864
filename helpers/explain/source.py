"""Find the student's lines in a traceback, and the expression that failed in each of them."""

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
from helpers.language import translate

_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_COURSE = tuple(
    Path(file).resolve().parent for file in (Path(__file__).parent, simulated_cuda.__file__)
)
_LIBRARIES = (
    *_COURSE,
    Path(torch.__file__).resolve().parent,
    *(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib")),
)


class Source:
    """The text of one cell or file, with its syntax tree and each node's parents."""

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
        """Return the source of `filename`; None if it is not available or not valid Python."""
        return cls.parse(filename, "".join(linecache.getlines(filename, module_globals)))

    @classmethod
    @lru_cache(maxsize=8)
    def parse(cls, filename: str, text: str) -> Source | None:
        """Parse `text`; None if it is empty or not valid Python."""
        try:
            return cls(filename, text) if text.strip() else None
        except (SyntaxError, ValueError):
            return None

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the start and end offsets of `node` in `text`."""
        ends = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        start, end = (self.position(line, column) for line, column in ends)
        return start, end

    def position(self, line: int, column: int) -> int:
        """Return the offset in `text` of a line and column; `ast` counts columns in UTF-8 bytes."""
        before = sum(len(text) + 1 for text in self.lines[: line - 1])
        return before + len(self.lines[line - 1].encode()[:column].decode())

    def segment(self, node: ast.AST) -> str:
        """Return the code of `node` on one line, as the student wrote it where possible."""
        if getattr(node, "lineno", None) is None or node.end_lineno != node.lineno:
            return ast.unparse(node)
        return self.text[slice(*self.span(node))]

    def parents(self, node: ast.AST) -> list[ast.AST]:
        """Return the ancestors of `node`, innermost first."""
        chain = []
        while (node := self._parents.get(node)) is not None:
            chain.append(node)
        return chain

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        """Return the innermost statement that contains `node`, or `node` itself."""
        return next((n for n in [node, *self.parents(node)] if isinstance(n, ast.stmt)), None)

    def scope_of(self, node: ast.AST) -> ast.AST:
        """Return the function that contains `node`, or the whole tree."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        return next((n for n in self.parents(node) if isinstance(n, kinds)), self.tree)

    def find(self, code: CodeType, lasti: int, lineno: int) -> ast.AST | None:
        """Return the node that instruction `lasti` of `code` was computing."""
        first, last, start, end = next(islice(code.co_positions(), lasti // 2, None), (None,) * 4)
        candidates = [
            node
            for node in ast.walk(self.tree)
            if (getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)) == (last, end)
        ]
        exact_matches = [
            node for node in candidates if (node.lineno, node.col_offset) == (first, start)
        ]
        if exact_matches:  # an expression statement and its expression have the same position
            node = next(
                (node for node in exact_matches if isinstance(node, ast.expr)), exact_matches[0]
            )
            stores = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
            return self.statement_of(node) if stores else node
        # The position of a method call that spans several lines starts at its dot.
        calls = [n for n in candidates if isinstance(n, ast.Call) and n.lineno <= first]
        statements = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.stmt) and node.lineno <= lineno <= (node.end_lineno or lineno)
        ]
        return next(iter([*calls, *statements[-1:]]), None)


@dataclass(frozen=True)
class Site:
    """A line of the student's code in the traceback of the error.

    `node` is the expression that was being computed and `statement` the statement around it; both
    are None if the source is not available. `names` maps the variables in scope to their values.
    `library_frames` are the frames of the libraries that the line called.
    """

    frame: FrameType
    lineno: int
    source: Source | None
    node: ast.AST | None
    statement: ast.stmt | None
    names: ChainMap[str, object]
    library_frames: list[FrameType] = field(default_factory=list)

    @property
    def in_function(self) -> bool:
        """Whether the line is inside a function and has local variables."""
        return bool(self.frame.f_code.co_flags & inspect.CO_OPTIMIZED)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the function's parameters; empty outside a function."""
        code = self.frame.f_code
        starred = (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)
        count = code.co_argcount + code.co_kwonlyargcount
        count += sum(bool(code.co_flags & flag) for flag in starred)
        return code.co_varnames[:count] if self.in_function else ()

    @property
    def where(self) -> str:
        """The line's number, the file unless it is a notebook cell, and the function."""
        path = Path(self.frame.f_code.co_filename)
        where = translate("line {number}", number=self.lineno)
        if not (path.name.startswith("<") or path.parent.name.startswith("ipykernel_")):
            where = translate("{line} of {file}", line=where, file=path.name)
        if self.in_function:
            name = self.frame.f_code.co_name
            where = translate("{line}, in `{function}`", line=where, function=name)
        return where

    @property
    def line(self) -> str:
        """The failing line without indentation; a multi-line statement as one line."""
        if self.statement is not None and not hasattr(self.statement, "body"):
            return self.source.segment(self.statement)
        lines = self.source.lines if self.source else []
        return lines[self.lineno - 1].strip() if 0 < self.lineno <= len(lines) else ""

    def definition_of(self, name: str) -> ast.Assign | None:
        """Return the last `name = ...` above the failing line, in the same function or cell."""
        if self.source is None or self.statement is None:
            return None
        scope = self.source.scope_of(self.statement)
        definitions = [
            node
            for node in ast.walk(scope)
            if isinstance(node, ast.Assign)
            and node.lineno < self.statement.lineno
            and [ast.unparse(target) for target in node.targets] == [name]
            and self.source.scope_of(node) is scope
        ]
        return max(definitions, key=lambda node: node.lineno, default=None)


def student_sites(traceback: TracebackType | None) -> list[Site]:
    """Return the sites in the student's code in `traceback`, innermost first."""
    sites: list[Site] = []
    timed_code = ""
    while traceback is not None:
        frame = traceback.tb_frame
        if not is_library(frame.f_code.co_filename):
            site = _site(frame, traceback.tb_lasti, traceback.tb_lineno, timed_code)
            if frame.f_code.co_name in _COMPREHENSIONS and sites:
                # A generator expression, or before Python 3.12 any comprehension, has its own
                # frame; to the student it is part of the enclosing line.
                outer = sites.pop()
                names = ChainMap(frame.f_locals, *outer.names.maps)
                site = replace(site, frame=outer.frame, names=names)
            sites.append(site)
        else:
            if sites:
                sites[-1].library_frames.append(frame)
            if frame.f_code.co_name == "time" and isinstance(frame.f_locals.get("expr"), str):
                # No other variable has the text of a %%time cell.
                timed_code = frame.f_locals["expr"]
        traceback = traceback.tb_next
    return sites[::-1]


def _site(frame: FrameType, lasti: int, lineno: int, timed_code: str = "") -> Site:
    filename = frame.f_code.co_filename
    source = Source.of(filename, frame.f_globals)
    if source is None and timed_code and filename.startswith("<timed"):
        source = Source.parse(filename, timed_code)
    node = source.find(frame.f_code, lasti, lineno) if source else None
    statement = source.statement_of(node) if source and node else None
    return Site(frame, lineno, source, node, statement, ChainMap(frame.f_locals, frame.f_globals))


def is_library(filename: str) -> bool:
    """Return whether `filename` belongs to Python, the course, or an installed package."""
    if filename.startswith("<"):
        return filename.startswith(("<frozen", "<eval_with_key", "<__array_function__"))
    path = Path(filename).resolve()
    if {"site-packages", "dist-packages"} & set(path.parts):
        return True
    return any(path.is_relative_to(folder) for folder in _LIBRARIES)


def is_raised_by_python_code(error: Exception, site: Site) -> bool:
    """Return whether a `raise` or `assert` in the student's or the course's code raised `error`."""
    if site.library_frames:
        frame = site.library_frames[-1]
        path = Path(frame.f_code.co_filename).resolve()
        if not any(path.is_relative_to(folder) for folder in _COURSE):
            return False
        site = _site(frame, frame.f_lasti, frame.f_lineno)
    # For an assertion, the position is the statement or the comparison, depending on the version.
    is_assertion = isinstance(error, AssertionError) and isinstance(site.statement, ast.Assert)
    return is_assertion or isinstance(site.node, ast.Raise)
