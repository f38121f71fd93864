"""Apply a fix to the student's code as edits of its text."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from textwrap import dedent

from helpers.explain.places import Operand
from helpers.explain.source import Site, Source

_WIDTH = 96

Edit = tuple[tuple[int, int], tuple[int, int], str]  # (line, byte) start, (line, byte) end, text


@dataclass(frozen=True)
class Fix:
    """A replacement for the lines `first` to `last` of one cell or file.

    Attributes:
        added: the new lines, if the fix only adds lines before the failing one.
        where: where the change is, if not in the failing line, such as "line 2".
        shown: the old and the new code to show, on one line each where they fit.
    """

    first: int
    last: int
    new: str
    added: str = ""
    where: str = ""
    shown: tuple[str, str] = ("", "")

    def applied_to(self, text: str) -> str:
        """Return the text of the cell or file with the fix applied."""
        lines = text.split("\n")
        return "\n".join([*lines[: self.first - 1], self.new, *lines[self.last :]])


@dataclass(frozen=True)
class Advice:
    """A fix, if one could be written; what is where, the culprit first; and why torch refuses."""

    fix: Fix | None
    places: tuple[Operand, ...] = ()
    why: str = ""


def span(node: ast.AST) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the (line, byte) positions at which `node` starts and ends."""
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def replace_node(node: ast.AST, text: str) -> Edit:
    """Replace `node` with `text`."""
    return (*span(node), text)


def insert_before(node: ast.AST, text: str) -> Edit:
    """Insert `text` before `node`."""
    return (span(node)[0], span(node)[0], text)


def replace_method(call: ast.Call, text: str) -> Edit:
    """Replace the method call `.name(...)` at the end of `call` with `text`."""
    return (span(call.func.value)[1], span(call)[1], text)


def add_keyword(source: Source, call: ast.Call, name: str, value: str) -> list[Edit]:
    """Pass `name=value` to a call, or change the value it passes."""
    for word in call.keywords:
        if word.arg == name:
            return [replace_node(word.value, value)]
    line, column = call.end_lineno, call.end_col_offset - 1
    text = source.lines[line - 1].encode()[:column]
    while not text.strip() and line > call.lineno:  # the closing parenthesis has its own line
        line -= 1
        text = source.lines[line - 1].encode()
    place = (line, len(text.rstrip()))
    ending = text.rstrip()[-1:]
    comma = "" if ending == b"(" else " " if ending == b"," else ", "
    return [(place, place, f"{comma}{name}={value}")]


def add_method(node: ast.AST, method: str) -> list[Edit]:
    """Call a method on the value of `node`: `x.cpu()`, or `(a + b).cpu()`."""
    start, end = span(node)
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.List):
        return [(end, end, method)]
    return [(start, start, "("), (end, end, ")" + method)]


def create_on(site: Site, factory: ast.Call, device: str) -> list[Edit]:
    """Make a call such as `torch.ones(3)` create its tensor on `device`."""
    if isinstance(factory.func, ast.Attribute) and factory.func.attr == "from_numpy":
        return add_method(factory, f".to({device})")
    return add_keyword(site.source, factory, "device", device)


def add_lines(site: Site, *lines: str) -> Fix | None:
    """Return the fix that adds `lines` before the failing statement; None if it cannot."""
    if not takes_a_line_before(site):
        return None
    return make_fix(site.source, [], site.statement, lines)


def make_fix(
    source: Source, edits: list[Edit], at: ast.stmt, before: tuple[str, ...] = (), where: str = ""
) -> Fix | None:
    """Combine edits of the statement `at` and lines to add before it into one fix.

    Returns None if there is nothing to change, or if the result would not be valid Python, which
    can happen in f-strings.
    """
    touched = [line for (line, _), (end, _), _ in edits for line in (line, end)]
    touched += [at.lineno] if before else []
    if not touched:
        return None
    first, last = min(touched), max(touched)
    old = source.lines[first - 1 : last]
    raw = [line.encode() for line in old]
    for (line, start), (end_line, end), text in sorted(edits, reverse=True):
        changed = raw[line - first][:start] + text.encode() + raw[end_line - first][end:]
        raw[line - first : end_line - first + 1] = [changed]
    new = b"\n".join(raw).decode().split("\n")
    indent = source.lines[at.lineno - 1].encode()[: at.col_offset].decode()
    place = at.lineno - first
    new[place:place] = [indent + line for line in before]
    fix = Fix(first, last, "\n".join(new), "" if edits else "\n".join(before), where)
    try:
        tree = ast.parse(fix.applied_to(source.text))
    except SyntaxError:
        return None
    return replace(fix, shown=_on_one_line(at, tree, before) or _changed_lines(old, new))


def _on_one_line(at: ast.stmt, tree: ast.Module, before: tuple[str, ...]) -> tuple[str, str] | None:
    """Return a statement over several lines on one line, before and after; None if too long."""
    if before or hasattr(at, "body") or at.end_lineno == at.lineno:
        return None
    changed = next(n for n in ast.walk(tree) if isinstance(n, type(at)) and n.lineno == at.lineno)
    pair = ast.unparse(at), ast.unparse(changed)
    return pair if max(map(len, pair)) <= _WIDTH else None


def _changed_lines(old: list[str], new: list[str]) -> tuple[str, str]:
    if len(old) == len(new):
        pairs = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
        old, new = [a for a, _ in pairs], [b for _, b in pairs]
    return dedent("\n".join(old)).strip(), dedent("\n".join(new)).strip()


def takes_a_line_before(site: Site) -> bool:
    """Return whether a new line can be added before the failing statement."""
    statement, source = site.statement, site.source
    if statement is None or source is None or isinstance(statement, ast.While):
        return False
    line = source.lines[statement.lineno - 1]
    return not line[: statement.col_offset].strip() and not line.lstrip().startswith(
        ("elif", "else", "@", "case", "except", "def ", "class ")
    )


def can_assign(site: Site, name: ast.Name) -> bool:
    """Return whether `name = ...` before the failing line changes what the line uses."""
    binders = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    for outer in site.source.parents(name):
        for part in ast.walk(outer) if isinstance(outer, binders) else ():
            stored = isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            if (stored and part.id == name.id) or (
                isinstance(part, ast.arg) and part.arg == name.id
            ):
                return False
    code = site.frame.f_code
    return not site.in_function or name.id in code.co_varnames or name.id in code.co_cellvars
