"""The HTML pages of executed notebooks, and `index.html`, the page of a run or a batch."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import jinja2
from nbconvert import HTMLExporter

from course.execution.progress import format_seconds
from course.files import read_notebook, write_atomically
from course.reports.entries import Entry, format_value, result_names
from helpers.language import ENGLISH

_TEMPLATES = Path(__file__).parent / "templates"
# For example, a badge. The page shows the alt text instead.
_REMOTE_IMAGE = re.compile(r"!\[([^\]]*)\]\(https?://[^)]*\)")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")
_STYLE = re.compile(r"(<style[^>]*>)(.*?)(?=</style>)", re.DOTALL)


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
    that are not in the same folder become plain text. `index` is the target of the link at the top;
    `sibling_names` are notebooks with pages in the same folder.
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
    write_atomically(page, _without_unused_rules(text))
    return page


def _without_unused_rules(page: str) -> str:
    """Remove the style rules whose classes are not in use: nearly all of JupyterLab's 250 KB."""
    values = re.findall(r'\bclass="([^"]*)"', _STYLE.sub("", page))
    classes = {name for value in values for name in value.split()}

    def keep(rule: re.Match[str]) -> str:
        selectors = re.split(r",(?![^(]*\))", re.sub(r":not\([^)]*\)", "", rule[1]))
        needed = (set(re.findall(r"\.(-?[A-Za-z_][\w-]*)", selector)) for selector in selectors)
        return rule[0] if any(names <= classes for names in needed) else ""

    def prune(style: re.Match[str]) -> str:
        rules = re.sub(r"/\*.*?\*/|--jp-icon-[\w-]+: url\([^)]*\);", "", style[2], flags=re.DOTALL)
        return style[1] + re.sub(r"([^{};]+)\{[^{}]*\}\s*", keep, rules)

    return _STYLE.sub(prune, page)


def write_report(
    entries: Sequence[Entry], folder: Path, facts: Mapping[str, str], **plan: object
) -> Path:
    """Write `index.html`, a self-contained page with a row per entry, and return its path.

    `facts` are those of the last start of the batch. `plan` has the `title`; the `noun` for a row;
    the parameters `fixed` in all runs; the names of the `varied` ones (if there are none, all
    results are in one column); the number of `planned` runs; and whether the batch `is_running`.
    """
    hosts = sorted({entry["host"] for entry in entries if entry["host"]})
    page = folder / "index.html"
    text = page_environment().get_template("report.html.j2").render(
        plan,
        now=datetime.now().astimezone(),
        entries=entries,
        parameters=list(dict.fromkeys(name for entry in entries for name in entry["parameters"])),
        result_names=result_names,
        reported={name for entry in entries for name in entry["reported"]},
        # The machines, if there are several, as on a cluster.
        facts={**facts, **({"executed on": ", ".join(hosts)} if len(hosts) > 1 else {})},
    )  # fmt: skip
    write_atomically(page, text)
    return page
