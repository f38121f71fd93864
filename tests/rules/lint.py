"""Rules that make a page accessible and readable; a page is a notebook or a Markdown file.

Markdown is rendered to HTML first, so that one rule reads both. Each rule returns one sentence per
problem. The rules for outputs are in `course.authoring.stored_outputs`, those for links in
`links.py`.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import nbformat
from bs4 import BeautifulSoup
from markdown_it import MarkdownIt
from nbformat import NotebookNode

from course.authoring.stored_outputs import first_line

# Lines of code that are not blank. The style guide recommends about 15 lines per cell.
MAX_CELL_LINES = 18
# An answer to an exercise may consist of several small functions.
MAX_ANSWER_LINES = 34
# The setup cell, which is collapsed, may be longer.
MAX_SETUP_LINES = 36

_MARKDOWN = MarkdownIt("commonmark").enable("table")
_HEADINGS = [f"h{level}" for level in range(1, 7)]


def read_page(page: Path) -> BeautifulSoup:
    """Return a Markdown file, or all Markdown cells of a notebook, as HTML."""
    if page.suffix != ".ipynb":
        return render(page.read_text(encoding="utf-8"))
    cells = nbformat.read(page, as_version=4).cells
    return render("\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown"))


def render(markdown: str) -> BeautifulSoup:
    """Return a Markdown text as HTML."""
    return BeautifulSoup(_MARKDOWN.render(markdown), "html.parser")


def lint_page(page: Path) -> list[str]:
    """Return the findings of all rules in a notebook or a Markdown file."""
    text = read_page(page)
    findings = [*heading_problems(text), *html_problems(text)]
    if page.suffix == ".ipynb":
        notebook = nbformat.read(page, as_version=4)
        findings += [*output_problems(notebook), *long_cells(notebook)]
    return findings


def heading_problems(html: BeautifulSoup) -> Iterator[str]:
    """Find a page without a title first, a second title, or a skipped level."""
    outline = [(int(heading.name[1]), heading.get_text()) for heading in html(_HEADINGS)]
    if not outline or outline[0][0] != 1:
        yield "the first heading is not a title (#)"
    for (before, _), (level, text) in pairwise(outline):
        if level == 1:
            yield f"a second title: {text!r}"
        elif level > before + 1:
            yield f"the heading {text!r} has level {level} right below level {before}"


def html_problems(html: BeautifulSoup) -> Iterator[str]:
    """Find images without alt text and tables without column names."""
    for image in html("img", attrs={"aria-hidden": None}):
        if not image.get("alt", "").strip():
            yield f"the image {image.get('src', '')[:40]} has no alt text"
    for drawing in html("svg", attrs={"aria-hidden": None, "aria-label": None}):
        if not drawing.find("title"):
            yield "an <svg> has neither <title> nor aria-label"
    for table in html("table", attrs={"role": None}):
        names = [cell.get_text().strip() for cell in table("th")]
        if not names or not all(names):
            yield f"a column of this table has no name: {table.get_text(' ', strip=True)[:40]}"


def output_problems(notebook: NotebookNode) -> Iterator[str]:
    """Find figures without alt text and tables without header cells in the outputs."""
    for number, cell in enumerate(notebook.cells, start=1):
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            html = BeautifulSoup(data.get("text/html", ""), "html.parser")
            problems = list(html_problems(html))
            # If the output also has HTML, the HTML is shown instead of the image.
            if not html(["img", "svg"]):
                problems += [
                    f"a figure ({kind}) has no alt text"
                    for kind in data
                    if kind.startswith("image/")
                    and not output.metadata.get(kind, {}).get("alt", "").strip()
                ]
            for problem in problems:
                yield f"cell {number} ({first_line(cell.source)}): {problem}"


def long_cells(notebook: NotebookNode) -> Iterator[str]:
    """Find code cells that are too long for one idea."""
    for number, cell in enumerate(notebook.cells, start=1):
        lines = sum(bool(line.strip()) for line in cell.source.splitlines())
        limit = MAX_CELL_LINES
        if cell.metadata.get("nbgrader", {}).get("solution", False):
            limit = MAX_ANSWER_LINES
        if "bootstrap" in cell.metadata.get("tags", []):
            limit = MAX_SETUP_LINES
        if cell.cell_type == "code" and lines > limit:
            yield f"cell {number} ({first_line(cell.source)}) has {lines} lines, more than {limit}"
