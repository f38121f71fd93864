"""Put a cure into the student's own text: which lines, what stands there, what should."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from textwrap import dedent

from helpers.explain.source import Site, Source

_WIDTH = 96

Edit = tuple[tuple[int, int], tuple[int, int], str]  # (line, byte) from, (line, byte) to, new text


@dataclass(frozen=True)
class Cure:
    """A change of the lines `first` to `last` of one cell or file.

    Where `added` is not empty it is all that is new, and stands before the failing line.
    `shown` is what to show of the old and the new text: each on a line, if it goes on one.
    """

    filename: str
    first: int
    last: int
    old: str
    new: str
    added: str = ""
    where: str = ""  # "line 2", where the change is not in the failing line
    shown: tuple[str, str] = ("", "")

    def applied_to(self, text: str) -> str:
        """Return the text of the cell or file with the cure put in."""
        lines = text.split("\n")
        return "\n".join([*lines[: self.first - 1], self.new, *lines[self.last :]])


def span(node: ast.AST) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where `node` begins and ends."""
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def replace_node(node: ast.AST, text: str) -> Edit:
    """Write `text` in the place of `node`."""
    return (*span(node), text)


def with_keyword(source: Source, call: ast.Call, name: str, value: str) -> list[Edit]:
    """Give a call the argument `name=value`, or change the one it has."""
    for word in call.keywords:
        if word.arg == name:
            return [replace_node(word.value, value)]
    line, column = call.end_lineno, call.end_col_offset - 1
    text = source.lines[line - 1].encode()[:column]
    while not text.strip() and line > call.lineno:  # the bracket closes on a line of its own
        line -= 1
        text = source.lines[line - 1].encode()
    place = (line, len(text.rstrip()))
    ending = text.rstrip()[-1:]
    comma = "" if ending == b"(" else " " if ending == b"," else ", "
    return [(place, place, f"{comma}{name}={value}")]


def method_after(node: ast.AST, method: str) -> list[Edit]:
    """Call a method on what `node` computes: `x.cpu()`, or `(a + b).cpu()`."""
    start, end = span(node)
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.List):
        return [(end, end, method)]
    return [(start, start, "("), (end, end, ")" + method)]


def rewrite(
    source: Source,
    edits: list[Edit],
    at: ast.stmt,
    before: tuple[str, ...] = (),
    where: str = "",
) -> Cure | None:
    """Make one cure of edits in the text of the statement `at` and lines to put before it.

    Returns None where there is nothing to change, or the outcome would be no Python, as inside
    some f-strings.
    """
    touched = [line for (line, _), (end, _), _ in edits for line in (line, end)]
    touched += [at.lineno] if before else []
    if not touched:
        return None
    first, last = min(touched), max(touched)
    raw = [line.encode() for line in source.lines[first - 1 : last]]
    old = b"\n".join(raw).decode()
    for (line, start), (end_line, end), text in sorted(edits, reverse=True):
        tail = raw[end_line - first][end:]
        changed = raw[line - first][:start] + text.encode() + tail
        raw[line - first : end_line - first + 1] = [changed]
    lines = b"\n".join(raw).decode().split("\n")
    indent = source.lines[at.lineno - 1].encode()[: at.col_offset].decode()
    place = at.lineno - first
    lines[place:place] = [indent + line for line in before]
    added = "" if edits else "\n".join(before)
    cure = Cure(source.filename, first, last, old, "\n".join(lines), added, where)
    try:
        tree = ast.parse(cure.applied_to(source.text))
    except SyntaxError:
        return None
    return replace(cure, shown=_shown(cure, at, tree, before))


def _shown(cure: Cure, at: ast.stmt, tree: ast.Module, before: tuple[str, ...]) -> tuple[str, str]:
    """Show a statement that goes over several lines on one; else the lines that differ."""
    if not before and not hasattr(at, "body") and at.end_lineno > at.lineno:
        changed = next(
            n for n in ast.walk(tree) if isinstance(n, type(at)) and n.lineno == at.lineno
        )
        pair = ast.unparse(at), ast.unparse(changed)
        if max(map(len, pair)) <= _WIDTH:
            return pair
    old, new = cure.old.split("\n"), cure.new.split("\n")
    if len(old) == len(new):
        pairs = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
        old, new = [a for a, _ in pairs], [b for _, b in pairs]
    return dedent("\n".join(old)).strip(), dedent("\n".join(new)).strip()


def takes_a_line_before(site: Site) -> bool:
    """Say whether a line of its own may stand before the failing statement."""
    statement, source = site.statement, site.source
    if statement is None or source is None or isinstance(statement, ast.While):
        return False
    line = source.lines[statement.lineno - 1]
    return not line[: statement.col_offset].strip() and not line.lstrip().startswith(
        ("elif", "else", "@", "case", "except", "def ", "class ")
    )


def can_be_assigned(site: Site, name: ast.Name) -> bool:
    """Say whether `name = ...` before the failing line changes the name that the line uses."""
    bound_inside = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    for outer in site.source.parents(name):
        if isinstance(outer, bound_inside) and name.id in {
            part.id if isinstance(part, ast.Name) else part.arg
            for part in ast.walk(outer)
            if (isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
            or isinstance(part, ast.arg)
        }:
            return False
    code = site.frame.f_code
    return not site.in_function or name.id in code.co_varnames or name.id in code.co_cellvars
