"""Turns an executed notebook into an HTML page that holds its figures."""

from __future__ import annotations

import re
from pathlib import Path

import jinja2
import nbformat
from nbconvert import HTMLExporter
from nbformat import NotebookNode

_TEMPLATES = Path(__file__).parent / "templates"
# A badge, for instance: the page shows its words.
_PICTURE_ELSEWHERE = re.compile(r"!\[([^\]]*)\]\(https?://[^)]*\)")
_LINK = re.compile(r"\]\((\w+)\.ipynb\)")


def write_page(notebook_file: Path, *, index: str = "index.html") -> Path:
    """Write `NAME.html` beside `NAME.ipynb` and return its path.

    `index` is where it leads back; "" for nowhere.
    The page carries its figures and styles in itself; links to other notebooks lead to their
    pages. Only a page with formulas asks the network for something: the script that sets them.
    """
    notebook = nbformat.read(notebook_file, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if not _did_nothing(cell)]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _LINK.sub(r"](\1.html)", _PICTURE_ELSEWHERE.sub(r"\1", cell.source))
    exporter = HTMLExporter(
        template_file="notebook.html.j2",
        extra_loaders=[jinja2.FileSystemLoader(_TEMPLATES)],
        embed_images=True,
    )
    formulas = any("$" in cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    resources = {"metadata": {"name": notebook_file.stem, "path": str(notebook_file.parent)}}
    shown = {"has_formulas": formulas, "index": index}
    text, _ = exporter.from_notebook_node(notebook, {**resources, **shown})
    page = notebook_file.with_suffix(".html")
    page.write_text(text, encoding="utf-8")
    return page


def _did_nothing(cell: NotebookNode) -> bool:
    """Whether this is the bootstrap cell and it found everything in place."""
    return "bootstrap" in cell.metadata.get("tags", []) and not cell.outputs
