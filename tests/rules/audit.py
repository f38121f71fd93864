"""Count the cells that nbval compares in a notebook, and find cells that it passes by mistake.

nbval passes every cell without a stored output, whatever the cell prints. This module needs nbval,
which the `test` extra installs.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from nbformat import NotebookNode
from nbval.plugin import find_comment_markers, find_metadata_tags

from course.authoring.stored_outputs import RESULT_TYPE, first_line

# Added to nbval's own list: output that differs between machines and runs.
# Reported results are shown in the report of a run; a lesson that discusses a result prints it.
NOT_COMPARED = (
    "stderr",
    RESULT_TYPE,
    "image/svg+xml",
    "application/pdf",
    "application/vnd.jupyter.widget-view+json",
)
_IMAGES = ("image/png", "image/jpeg", "image/svg+xml", "application/pdf")

# Names of functions that display output.
_DISPLAY_FUNCTIONS = {"print", "display", "report", "show_data", "show"}

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
    # Position among all cells, starting at 1, and the first line.
    stripped: list[str]

    @property
    def compares_enough(self) -> bool:
        """Whether nbval compares at least a third of the code cells."""
        return 3 * self.compared >= self.cells

    def __str__(self) -> str:
        text = f"{self.compared} of {self.cells} code cells are compared"
        if self.stripped:
            text += f"; stripped of their output: {', '.join(self.stripped)}"
        return text


def compare(notebook: NotebookNode, patterns: Patterns) -> Comparison:
    """Count the code cells for which nbval compares at least one output with content.

    Args:
        notebook: the notebook with its stored outputs.
        patterns: the sanitizer's regular expressions and replacements; an output that they mask
            completely does not count.
    """
    cells = [(n, c) for n, c in enumerate(notebook.cells, start=1) if c.cell_type == "code"]
    cells = [(n, cell) for n, cell in cells if cell.source.strip()]
    return Comparison(
        cells=len(cells),
        compared=sum(is_compared(cell, patterns) for _, cell in cells),
        stripped=[
            f"cell {number} ({first_line(cell.source)})"
            for number, cell in cells
            if not cell.outputs and _is_executed(cell) and always_shows_output(cell.source)
        ],
    )


def is_compared(cell: NotebookNode, patterns: Patterns) -> bool:
    """Return whether nbval compares an output of this cell other than images and masked numbers."""
    options = dict(find_metadata_tags(cell.metadata))
    options.update(find_comment_markers(cell.source))
    if options.get("skip") or not options.get("check", True) or cell.execution_count is None:
        return False
    return any(_has_content(output, patterns) for output in cell.outputs)


def _is_executed(cell: NotebookNode) -> bool:
    options = dict(find_metadata_tags(cell.metadata))
    options.update(find_comment_markers(cell.source))
    return not options.get("skip") and "skip-execution" not in cell.metadata.get("tags", [])


def _has_content(output: NotebookNode, patterns: Patterns) -> bool:
    if output.output_type == "stream":
        return output.name not in NOT_COMPARED and _has_unmasked_text(output.text, patterns)
    # An output with reported results contains nothing but their text form.
    if output.output_type == "error" or RESULT_TYPE in output.data:
        return False
    types = [type_ for type_ in output.data if type_ not in NOT_COMPARED and type_ not in _IMAGES]
    if any(type_ in _IMAGES for type_ in output.data):
        # The text next to an image is its size or its description.
        types = [type_ for type_ in types if type_ not in ("text/plain", "text/html")]
    return any(_has_unmasked_text(str(output.data[type_]), patterns) for type_ in types)


def _has_unmasked_text(text: str, patterns: Patterns) -> bool:
    for regex, _ in patterns:
        text = re.sub(regex, "", text)
    return bool(re.search(r"\w", text))


def always_shows_output(source: str) -> bool:
    """Return whether a cell always has an output: it prints, or ends in a value.

    A call at the end counts only if its name is in `_DISPLAY_FUNCTIONS`. Code in an `if`
    statement or a function does not count.
    """
    code = "\n".join(
        line for line in source.splitlines() if not line.lstrip().startswith(("%", "!"))
    )
    try:
        body = ast.parse(code).body
    except SyntaxError:
        return False
    if not body:
        return False
    if any(_is_display_call(node) for node in _executed_nodes(body)):
        return True
    last = body[-1]
    if not isinstance(last, ast.Expr) or code.rstrip().endswith(";"):
        return False
    value = last.value
    return isinstance(value, _VALUES) or (
        isinstance(value, ast.Constant) and value.value is not None
    )


def _executed_nodes(body: list[ast.stmt]) -> list[ast.AST]:
    """Return the expressions that are always executed, including those in loops and blocks."""
    nodes: list[ast.AST] = []
    for statement in body:
        if isinstance(statement, ast.For | ast.With | ast.Try):
            nodes += _executed_nodes(statement.body)
        elif isinstance(statement, ast.Expr):
            nodes.append(statement.value)
    return nodes


def _is_display_call(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in _DISPLAY_FUNCTIONS
