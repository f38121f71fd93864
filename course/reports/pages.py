"""The HTML pages of executed notebooks, and `index.html`, the page of a run or a batch."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import jinja2
from nbconvert import HTMLExporter

from course.execution.jobs import Status
from course.execution.progress import format_seconds
from course.files import read_notebook, write_atomically
from course.reports.entries import Entry, format_value, is_number, result_names
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


def write_report(
    entries: Sequence[Entry],
    folder: Path,
    *,
    title: str,
    noun: str,
    fixed: Mapping[str, object],
    varied: Sequence[str],
    planned: int,
    is_running: bool,
    facts: Mapping[str, str],
) -> Path:
    """Write `index.html`, a self-contained page, and return its path.

    Each of the ended `entries`, in the plan's order, has a row; `noun` is "run" or "notebook".
    `fixed` are the parameters that are the same in all `planned` runs, and `varied` the names of
    the others; if there are none, all results are in one column. `facts` are shown at the end.

    Raises:
        OSError: the disk is full. The previous page is unchanged.
    """
    hosts = sorted({entry["host"] for entry in entries if entry["host"]})
    parameters = dict.fromkeys(name for entry in entries for name in entry["parameters"])
    page = (
        page_environment()
        .get_template("report.html.j2")
        .render(
            title=title,
            noun=noun,
            now=datetime.now().astimezone(),
            entries=entries,
            failed=[entry for entry in entries if entry["status"] != Status.PASSED],
            planned=planned,
            is_running=is_running,
            fixed=fixed,
            is_varied=bool(varied),
            parameters=[name for name in parameters if name not in fixed],
            result_names=result_names,
            reported={name for entry in entries for name in entry["reported"]},
            largest=_largest_values(entries),
            # The machines, if there are several, as on a cluster.
            facts={**facts, **({"executed on": ", ".join(hosts)} if len(hosts) > 1 else {})},
        )
    )
    path = folder / "index.html"
    write_atomically(path, page)
    return path


def _largest_values(entries: Sequence[Entry]) -> dict[str, float]:
    """Return the largest value of each result whose values are numbers of at least 0."""
    largest = {}
    for name in result_names(entries):
        values = [entry["reported"].get(name, 0) for entry in entries]
        if all(is_number(value) and 0 <= value < math.inf for value in values):
            largest[name] = max(values)
    return largest
