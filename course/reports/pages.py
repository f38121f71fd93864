"""Converts executed notebooks to HTML pages that contain their figures."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

import jinja2
from nbconvert import HTMLExporter

from course.execution.progress import format_seconds
from course.files import read_notebook, write_atomically
from course.reports.entries import format_value
from helpers.language import ENGLISH

_TEMPLATES = Path(__file__).parent / "templates"
# For example, a badge. The page shows the alt text instead.
_REMOTE_IMAGE = re.compile(r"!\[([^\]]*)\]\(https?://[^)]*\)")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")


def page_environment() -> jinja2.Environment:
    """Return the Jinja environment of the report templates, with autoescaping."""
    loader = jinja2.FileSystemLoader(_TEMPLATES)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"seconds": format_seconds, "value": format_value}
    return environment


def write_page(
    notebook_file: Path, index: str = "index.html", sibling_names: Collection[str] = ()
) -> Path:
    """Write `NAME.html` next to `NAME.ipynb` and return its path.

    The page is self-contained, except that formulas need a script from the network. Links to files
    that are not in the same folder become plain text.

    Args:
        notebook_file: the executed notebook.
        index: the target of the link at the top; empty for no link.
        sibling_names: notebooks with pages in the same folder. Links to them go to their pages.
    """
    notebook = read_notebook(notebook_file)
    notebook.cells = [
        cell
        for cell in notebook.cells
        if "bootstrap" not in cell.metadata.get("tags", []) or cell.outputs
    ]

    def adapt_link(link: re.Match[str]) -> str:
        text, target, anchor = link[1], link[2], link[3] or ""
        name = target.removesuffix(".ipynb")
        is_sibling = name in sibling_names and name != target
        return f"[{text}]({name}.html{anchor})" if is_sibling else text

    texts = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    for cell in texts:
        cell.source = _LINK.sub(adapt_link, _REMOTE_IMAGE.sub(r"\1", cell.source))
    # With `embed_images`, nbconvert would close each `<details>` before the answer that it hides.
    exporter = HTMLExporter(
        template_file="notebook.html.j2",
        extra_loaders=[jinja2.FileSystemLoader(_TEMPLATES)],
        language_code=notebook.metadata.get("course", {}).get("language", ENGLISH),
    )
    resources = {
        "metadata": {"name": notebook_file.stem, "path": str(notebook_file.parent)},
        "has_formulas": any("$" in cell.source for cell in texts),
        "index": index,
    }
    text, _ = exporter.from_notebook_node(notebook, resources)
    page = notebook_file.with_suffix(".html")
    write_atomically(page, text)
    return page
