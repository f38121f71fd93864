"""Converts executed notebooks to HTML pages that contain their figures."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from urllib.parse import quote

import jinja2
from nbconvert import HTMLExporter
from nbformat import NotebookNode

from course.execution.progress import format_seconds
from course.files import read_notebook, write_atomically
from course.reports.entries import Entry, format_value, result_names
from helpers.language import ENGLISH

_TEMPLATES = Path(__file__).parent / "templates"
# For example, a badge. The page shows the alt text instead.
_REMOTE_IMAGE = re.compile(r"!\[([^\]]*)\]\(https?://[^)]*\)")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")


def page_environment() -> jinja2.Environment:
    """Return the Jinja environment of the report templates, with autoescaping."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["seconds"] = format_seconds
    environment.filters["value"] = format_value
    environment.globals |= {"failing_link": failing_link, "result_names": result_names}
    return environment


def failing_link(entry: Entry) -> str:
    """Return a link to the failing cell in the run's page, or to the notebook if it has no page."""
    if not entry["page"]:
        return file_link(entry["file"])
    anchor = entry["failing_cell_id"]
    return quote(entry["page"]) + (f"#cell-id={quote(anchor)}" if anchor else "")


def file_link(file: str) -> str:
    """Return a link to a file of the report; a URL such as s3://... is unchanged."""
    return file if "://" in file else quote(file)


def write_page(
    notebook_file: Path, *, index: str = "index.html", sibling_names: Collection[str] = ()
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
    notebook.cells = [cell for cell in notebook.cells if not _is_silent_bootstrap(cell)]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _adapt_links(cell.source, sibling_names)
    # With `embed_images`, nbconvert would close each `<details>` before the answer that it hides.
    exporter = HTMLExporter(
        template_file="notebook.html.j2",
        extra_loaders=[jinja2.FileSystemLoader(_TEMPLATES)],
        language_code=notebook.metadata.get("course", {}).get("language", ENGLISH),
    )
    has_formulas = any(
        "$" in cell.source for cell in notebook.cells if cell.cell_type == "markdown"
    )
    resources = {
        "metadata": {"name": notebook_file.stem, "path": str(notebook_file.parent)},
        "has_formulas": has_formulas,
        "index": index,
    }
    text, _ = exporter.from_notebook_node(notebook, resources)
    page = notebook_file.with_suffix(".html")
    write_atomically(page, text)
    return page


def _adapt_links(markdown: str, sibling_names: Collection[str]) -> str:
    """Redirect links to notebooks in `sibling_names` to their pages; remove other links."""

    def adapt(link: re.Match[str]) -> str:
        text, target, anchor = link[1], link[2], link[3] or ""
        name = target.removesuffix(".ipynb")
        return (
            f"[{text}]({name}.html{anchor})" if name in sibling_names and name != target else text
        )

    return _LINK.sub(adapt, _REMOTE_IMAGE.sub(r"\1", markdown))


def _is_silent_bootstrap(cell: NotebookNode) -> bool:
    """Return whether a cell is the bootstrap cell and has no output."""
    return "bootstrap" in cell.metadata.get("tags", []) and not cell.outputs
