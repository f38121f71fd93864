"""Count what nbval really compares in a notebook, and find cells that it would pass wrongly.

nbval passes a cell whose stored output is gone, whatever the cell prints. Needs nbval, which
comes with the extra `test`.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from nbformat import NotebookNode
from nbval.plugin import find_comment_markers, find_metadata_tags

from course.authoring.stored_outputs import RESULT_TYPE, first_line

# Added to nbval's own list: output that differs between machines and runs.
# Reported results are in the report of a run; a lesson that teaches one of them shows it.
NOT_COMPARED = (
    "stderr",
    RESULT_TYPE,
    "image/svg+xml",
    "application/pdf",
    "application/vnd.jupyter.widget-view+json",
)
_IMAGES = ("image/png", "image/jpeg", "image/svg+xml", "application/pdf")

# Calls that show something, by name.
_SHOWS = {"print", "display", "report", "show_data", "show"}

# Expressions that show a value at the end of a cell. A call may return None.
_VALUES = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Tuple,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.Compare,
    ast.BinOp,
    ast.JoinedStr,
    ast.ListComp,
    ast.DictComp,
)

Patterns = list[tuple[str, str]]


@dataclass(frozen=True)
class Comparison:
    """The number of code cells, how many are compared, and which have lost their output."""

    cells: int
    compared: int
    # Position among all cells, starting at 1, and first line.
    stripped: list[str]

    @property
    def enough(self) -> bool:
        """Whether at least a third of the code cells are compared."""
        return 3 * self.compared >= self.cells

    def __str__(self) -> str:
        text = f"{self.compared} of {self.cells} code cells are compared"
        if self.stripped:
            text += f"; stripped of their output: {', '.join(self.stripped)}"
        return text


def compare(notebook: NotebookNode, patterns: Patterns) -> Comparison:
    """Count the code cells of which nbval compares at least one output that says something.

    Args:
        notebook: as it is stored.
        patterns: the sanitizer's regular expressions and replacements; an output that they mask
            as a whole does not count.
    """
    cells = [(n, c) for n, c in enumerate(notebook.cells, start=1) if c.cell_type == "code"]
    cells = [(n, cell) for n, cell in cells if cell.source.strip()]
    return Comparison(
        cells=len(cells),
        compared=sum(is_compared(cell, patterns) for _, cell in cells),
        stripped=[
            f"cell {number} ({first_line(cell.source)})"
            for number, cell in cells
            if not cell.outputs and _is_executed(cell) and shows_something(cell.source)
        ],
    )


def is_compared(cell: NotebookNode, patterns: Patterns) -> bool:
    """Whether nbval compares an output of this code cell, images and masked numbers apart."""
    options = dict(find_metadata_tags(cell.metadata))
    options.update(find_comment_markers(cell.source))
    if options.get("skip") or not options.get("check", True) or cell.execution_count is None:
        return False
    return any(_says_something(output, patterns) for output in cell.outputs)


def _is_executed(cell: NotebookNode) -> bool:
    options = dict(find_metadata_tags(cell.metadata))
    options.update(find_comment_markers(cell.source))
    return not options.get("skip") and "skip-execution" not in cell.metadata.get("tags", [])


def _says_something(output: NotebookNode, patterns: Patterns) -> bool:
    if output.output_type == "stream":
        return output.name not in NOT_COMPARED and _remains(output.text, patterns)
    # Beside the reported results there is only their text form.
    if output.output_type == "error" or RESULT_TYPE in output.data:
        return False
    kinds = [kind for kind in output.data if kind not in NOT_COMPARED and kind not in _IMAGES]
    if any(kind in _IMAGES for kind in output.data):
        # The text next to an image is its size or its description.
        kinds = [kind for kind in kinds if kind not in ("text/plain", "text/html")]
    return any(_remains(str(output.data[kind]), patterns) for kind in kinds)


def _remains(text: str, patterns: Patterns) -> bool:
    for regex, _ in patterns:
        text = re.sub(regex, "", text)
    return bool(re.search(r"\w", text))


def shows_something(source: str) -> bool:
    """Whether a cell surely has an output: it prints, or ends in a value.

    A call at the end counts only if its name says that it shows something, and what stands under
    an `if` or in a function does not count.
    """
    plain = "\n".join(
        line for line in source.splitlines() if not line.lstrip().startswith(("%", "!"))
    )
    try:
        body = ast.parse(plain).body
    except SyntaxError:
        return False
    if not body:
        return False
    if any(_is_showing_call(node) for node in _executed_nodes(body)):
        return True
    last = body[-1]
    if not isinstance(last, ast.Expr) or plain.rstrip().endswith(";"):
        return False
    value = last.value
    return isinstance(value, _VALUES) or (
        isinstance(value, ast.Constant) and value.value is not None
    )


def _executed_nodes(body: list[ast.stmt]) -> list[ast.AST]:
    """Statements, and those inside loops and blocks, that are executed in every case."""
    nodes: list[ast.AST] = []
    for statement in body:
        if isinstance(statement, ast.For | ast.With | ast.Try):
            nodes += _executed_nodes(statement.body)
        elif isinstance(statement, ast.Expr):
            nodes.append(statement.value)
    return nodes


def _is_showing_call(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in _SHOWS
