"""Rules that make a notebook accessible and readable: one function per rule.

Each rule takes a notebook and returns one sentence per problem. The rules for outputs are in
`course.authoring.stored_outputs`, those for links in `links.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise

from nbformat import NotebookNode

from course.authoring.stored_outputs import first_line

# Lines of code that are not blank. The style guide recommends about 15 lines per cell.
MAX_CELL_LINES = 18
# An answer to an exercise may consist of several small functions.
MAX_ANSWER_LINES = 34
# The setup cell, which is collapsed, may be longer.
MAX_SETUP_LINES = 36

_FENCED = re.compile(r"^( *)(```|~~~).*?^\1\2`*~*\s*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#{1,6}) +(.+?) *#*$", re.MULTILINE)
_IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]*)[^)]*\)")
_TABLE = re.compile(r"^ *(\|.*\|) *\n *\|(?: *:?-+:? *\|)+ *$", re.MULTILINE)


def lint_notebook(notebook: NotebookNode) -> list[str]:
    """Return the findings of all rules below."""
    rules = (missing_alt_texts, heading_problems, tables_without_header, long_cells)
    return [finding for rule in rules for finding in rule(notebook)]


def missing_alt_texts(notebook: NotebookNode) -> list[str]:
    """Return the images, in Markdown or in outputs, that have no alt text."""
    findings = []
    for location, text in _markdown(notebook):
        findings += [f"{location}: {problem}" for problem in markdown_images_without_alt(text)]
        findings += [f"{location}: {problem}" for problem in _read_html(text).images_without_alt]
    for location, output in _outputs(notebook):
        html = _read_html(output.data.get("text/html", ""))
        findings += [f"{location}: {problem}" for problem in html.images_without_alt]
        for kind in output.data:
            alt = output.metadata.get(kind, {}).get("alt", "")
            # If the output also has HTML, the HTML is shown instead of the image.
            if kind.startswith("image/") and not alt.strip() and not html.images:
                findings.append(f"{location}: a figure ({kind}) has no alt text")
    return findings


def markdown_images_without_alt(text: str) -> list[str]:
    """Return the images in a Markdown text that have no alt text."""
    return [
        f"the image {target} has no alt text"
        for alt, target in _IMAGE.findall(without_code(text))
        if not alt.strip()
    ]


def heading_problems(notebook: NotebookNode) -> list[str]:
    """Return heading problems: no title first, a second title, or a skipped level."""
    return outline_problems([pair for _, text in _markdown(notebook) for pair in headings(text)])


def outline_problems(outline: list[tuple[int, str]]) -> list[str]:
    """Return what is wrong with an outline of (level, text) pairs."""
    if not outline or outline[0][0] != 1:
        return ["the first heading is not a title (#)"]
    findings = [f"a second title: {text!r}" for level, text in outline[1:] if level == 1]
    for (before, _), (level, text) in pairwise(outline):
        if level > before + 1:
            findings.append(f"the heading {text!r} has level {level} right below level {before}")
    return findings


def headings(text: str) -> list[tuple[int, str]]:
    """Return the level and text of each heading in a Markdown text."""
    return [(len(marks), words) for marks, words in _HEADING.findall(without_fences(text))]


def tables_without_header(notebook: NotebookNode) -> list[str]:
    """Return the tables, in Markdown or in HTML outputs, whose columns have no names."""
    findings = []
    for location, text in _markdown(notebook):
        findings += [f"{location}: {problem}" for problem in markdown_tables_without_header(text)]
    for location, output in _outputs(notebook):
        for table in _read_html(output.data.get("text/html", "")).tables_without_header:
            findings.append(f"{location}: a table has no header cells (<th>): {table}")
    return findings


def markdown_tables_without_header(text: str) -> list[str]:
    """Return the table headers with an unnamed column in a Markdown text."""
    rows = (row[1:-1].split("|") for row in _TABLE.findall(without_fences(text)))
    return [
        f"a column of this table has no name: |{'|'.join(row)}|"
        for row in rows
        if not all(cell.strip() for cell in row)
    ]


def long_cells(notebook: NotebookNode) -> list[str]:
    """Return the code cells that are too long for one idea."""
    findings = []
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type != "code":
            continue
        lines = sum(bool(line.strip()) for line in cell.source.splitlines())
        generated = "bootstrap" in cell.metadata.get("tags", [])
        answer = cell.metadata.get("nbgrader", {}).get("solution", False)
        limit = MAX_ANSWER_LINES if answer else MAX_CELL_LINES
        limit = MAX_SETUP_LINES if generated else limit
        if lines > limit:
            findings.append(
                f"cell {number} ({first_line(cell.source)}) has {lines} lines, more than {limit}"
            )
    return findings


def without_code(text: str) -> str:
    """Return Markdown without code blocks and inline code."""
    return _FENCED.sub("", text)


def without_fences(text: str) -> str:
    """Return Markdown without code blocks, but with inline code."""
    return _FENCED.sub(lambda match: "" if match.group(2) else match.group(), text)


class _Html(HTMLParser):
    """Collects the images and tables in an HTML fragment."""

    def __init__(self) -> None:
        super().__init__()
        self.images = 0
        self.images_without_alt: list[str] = []
        self.tables_without_header: list[str] = []
        self._tables: list[dict[str, object]] = []
        self._untitled_svg = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        decoration = values.get("aria-hidden") == "true"
        if tag == "img":
            self.images += 1
            if not values.get("alt", "").strip() and not decoration:
                self.images_without_alt.append(
                    f"<img src={values.get('src', '')[:40]!r}> has no alt"
                )
        elif tag == "svg":
            self.images += 1
            self._untitled_svg = not (decoration or values.get("aria-label", "").strip())
        elif tag == "title":
            self._untitled_svg = False
        elif tag == "table":
            self._tables.append({"has_header": values.get("role") == "presentation", "text": ""})
        elif tag == "th" and self._tables:
            self._tables[-1]["has_header"] = True

    def handle_data(self, data: str) -> None:
        if self._tables:
            self._tables[-1]["text"] += data.strip() + " "

    def handle_endtag(self, tag: str) -> None:
        if tag == "svg" and self._untitled_svg:
            self.images_without_alt.append("an <svg> has neither <title> nor aria-label")
            self._untitled_svg = False
        elif tag == "table" and self._tables:
            table = self._tables.pop()
            if not table["has_header"]:
                self.tables_without_header.append(str(table["text"])[:40].strip())


def _read_html(text: str) -> _Html:
    html = _Html()
    html.feed(text)
    html.close()
    return html


def _markdown(notebook: NotebookNode) -> Iterator[tuple[str, str]]:
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type == "markdown":
            yield f"cell {number} ({first_line(cell.source)})", cell.source


def _outputs(notebook: NotebookNode) -> Iterator[tuple[str, NotebookNode]]:
    for number, cell in enumerate(notebook.cells, start=1):
        for output in cell.get("outputs", []):
            if "data" in output:
                yield f"cell {number} ({first_line(cell.source)})", output
