"""Build fixes as text edits of the student's code."""

from __future__ import annotations

import ast
from dataclasses import dataclass

import torch

from helpers.explain.operands import Operand
from helpers.explain.source import Site, Source

_WIDTH = 96

Edit = tuple[int, int, str]  # replaces the text from the first position to the second


@dataclass(frozen=True)
class Fix:
    """A change to one cell or file.

    Attributes:
        text: the whole cell or file after the change.
        added: the new lines, if the change only adds lines before the failing one.
        where: where the change is, if not in the failing line, such as "line 2".
        shown: the old and the new code to show, each on one line if it fits.
    """

    text: str
    added: str
    where: str
    shown: tuple[str, str]


@dataclass(frozen=True)
class Advice:
    """A fix, if one was found; the operands, culprit first; and why torch raises the error."""

    fix: Fix | None
    places: tuple[Operand, ...] = ()
    why: str = ""


def replace_node(source: Source, node: ast.AST, text: str) -> Edit:
    """Return the edit that replaces `node` with `text`."""
    return (*source.span(node), text)


def wrap(source: Source, node: ast.AST, before: str, after: str) -> list[Edit]:
    """Return the edits that insert `before` and `after` around `node`."""
    start, end = source.span(node)
    return [(start, start, before), (end, end, after)]


def replace_method(source: Source, call: ast.Call, text: str) -> Edit:
    """Return the edit that replaces the method call `.name(...)` at the end of `call`."""
    return (source.span(call.func.value)[1], source.span(call)[1], text)


def add_keyword(source: Source, call: ast.Call, name: str, value: str) -> list[Edit]:
    """Return the edits that add the keyword argument `name=value` to a call, or set its value."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return [replace_node(source, keyword.value, value)]
    start, end = source.span(call)
    text = source.text[start : end - 1].rstrip()
    comma = "" if text.endswith("(") else " " if text.endswith(",") else ", "
    position = start + len(text)
    return [(position, position, f"{comma}{name}={value}")]


def add_method(source: Source, node: ast.AST, method: str) -> list[Edit]:
    """Return the edits that call a method on `node`: `x.cpu()`, or `(a + b).cpu()`."""
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.List):
        return wrap(source, node, "", method)
    return wrap(source, node, "(", ")" + method)


def create_on(site: Site, factory: ast.Call, device: str) -> list[Edit]:
    """Return the edits that make a call such as `torch.ones(3)` create its tensor on `device`."""
    if isinstance(factory.func, ast.Attribute) and factory.func.attr == "from_numpy":
        return add_method(site.source, factory, f".to({device})")
    return add_keyword(site.source, factory, "device", device)


def make_fix(
    source: Source,
    edits: list[Edit],
    statement: ast.stmt,
    before: tuple[str, ...] = (),
    where: str = "",
) -> Fix | None:
    """Combine edits of `statement` and lines to add before it into one fix.

    Returns None if there is nothing to change, or if the result would not be valid Python, which
    can happen in f-strings.
    """
    if not edits and not before:
        return None
    text = source.text
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    new_source = Source.parse(source.filename, text)
    if new_source is None:
        return None
    pairs = zip(source.lines, new_source.lines, strict=False)
    lines = [(old.strip(), new.strip()) for old, new in pairs if old != new]
    if statement.end_lineno != statement.lineno and not hasattr(statement, "body") and not before:
        candidates = (n for n in ast.walk(new_source.tree) if isinstance(n, type(statement)))
        pair = (
            ast.unparse(statement),
            ast.unparse(next(n for n in candidates if n.lineno == statement.lineno)),
        )
        lines = [pair] if max(map(len, pair)) <= _WIDTH else lines
    old, new = ("\n".join(side) for side in zip(*lines, strict=True)) if lines else ("", "")
    added = "\n".join(before)
    if before:
        all_lines, indent = (
            text.split("\n"),
            source.lines[statement.lineno - 1][: _indent(source, statement)],
        )
        all_lines[statement.lineno - 1 : statement.lineno - 1] = [indent + line for line in before]
        text = "\n".join(all_lines)
    return Fix(text, "" if edits else added, where, (old, f"{added}\n{new}" if before else new))


def _indent(source: Source, statement: ast.stmt) -> int:
    line = source.lines[statement.lineno - 1]
    return len(line) - len(line.lstrip())


def can_insert_line_before(site: Site) -> bool:
    """Return whether a new line can be added before the failing statement."""
    statement, source = site.statement, site.source
    if statement is None or source is None or isinstance(statement, ast.While):
        return False
    line = source.lines[statement.lineno - 1]
    return _indent(source, statement) == statement.col_offset and not line.lstrip().startswith(
        ("elif", "else", "@", "case", "except", "def ", "class ")
    )


def can_assign(site: Site, name: ast.Name) -> bool:
    """Return whether `name = ...` before the failing line changes what the line uses."""
    binders = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    scopes = [outer for outer in site.source.parents(name) if isinstance(outer, binders)]
    for part in (part for outer in scopes for part in ast.walk(outer)):
        if isinstance(part, ast.arg) and part.arg == name.id:
            return False
        if isinstance(part, ast.Name) and part.id == name.id and isinstance(part.ctx, ast.Store):
            return False
    code = site.frame.f_code
    return not site.in_function or name.id in code.co_varnames or name.id in code.co_cellvars


def loop_variables(site: Site, name: str) -> list[str]:
    """Return both names of `for X, y in loader:`, to move the batch together; else []."""
    for outer in site.source.parents(site.statement):
        for part in ast.walk(outer.target) if isinstance(outer, ast.For) else ():
            names = [e.id for e in getattr(part, "elts", ()) if isinstance(e, ast.Name)]
            if name in names and len(names) == len(part.elts) == 2:
                pair = [site.names.get(n) for n in names]
                if all(isinstance(t, torch.Tensor) and t.device == pair[0].device for t in pair):
                    return names
    return []


def is_modified(site: Site, node: ast.AST) -> bool:
    """Return whether the line writes into `node`, so that a moved copy would lose the result."""
    outer = site.source.parents(node)[0]
    in_place = isinstance(outer, ast.Attribute) and outer.attr.endswith("_")
    out_argument = isinstance(outer, ast.keyword) and outer.arg == "out"
    assigned = any(isinstance(getattr(n, "ctx", None), ast.Store) for n in (node, outer))
    return assigned or in_place or out_argument
