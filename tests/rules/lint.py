"""Finds what keeps a notebook from being read by everybody: one function a rule.

Each rule takes a notebook and returns one sentence for each fault. What stands in stored outputs
besides is in `stored_outputs.py`, links are in `links.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise

from nbformat import NotebookNode

from course.authoring.stored_outputs import first_line

# Lines of code that are not blank. STYLE asks for about 15; the longest cells hold this.
LONGEST_CELL = 18
# An answer of a lab may be several small functions that belong together.
LONGEST_ANSWER = 34
# The set-up cell, which is collapsed, may be longer.
LONGEST_BOOTSTRAP = 36

_FENCED = re.compile(r"^( *)(```|~~~).*?^\1\2`*~*\s*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#{1,6}) +(.+?) *#*$", re.MULTILINE)
_IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]*)[^)]*\)")
_TABLE = re.compile(r"^ *(\|.*\|) *\n *\|(?: *:?-+:? *\|)+ *$", re.MULTILINE)


def lint_notebook(notebook: NotebookNode) -> list[str]:
    """Every fault that the rules below find, in the order of the rules."""
    rules = (missing_alt_texts, heading_faults, tables_without_header, long_cells)
    return [finding for rule in rules for finding in rule(notebook)]


def missing_alt_texts(notebook: NotebookNode) -> list[str]:
    """Images, in markdown or in outputs, that a person who cannot see them learns nothing of."""
    findings = []
    for where, text in _markdown(notebook):
        findings += [f"{where}: {fault}" for fault in markdown_images_without_alt(text)]
        findings += [f"{where}: {fault}" for fault in _read_html(text).silent_images]
    for where, output in _outputs(notebook):
        html = _read_html(output.data.get("text/html", ""))
        findings += [f"{where}: {fault}" for fault in html.silent_images]
        for kind in output.data:
            alt = output.metadata.get(kind, {}).get("alt", "")
            # The same figure may come as HTML too, which is then what is shown.
            if kind.startswith("image/") and not alt.strip() and not html.images:
                findings.append(f"{where}: a figure ({kind}) has no alt text")
    return findings


def markdown_images_without_alt(text: str) -> list[str]:
    """The images of a markdown text that have no alternative text."""
    return [
        f"the image {target} has no alt text"
        for alt, target in _IMAGE.findall(without_code(text))
        if not alt.strip()
    ]


def heading_faults(notebook: NotebookNode) -> list[str]:
    """Where the notebook does not begin with its only H1, or a heading skips a level."""
    return outline_faults([pair for _, text in _markdown(notebook) for pair in headings(text)])


def outline_faults(outline: list[tuple[int, str]]) -> list[str]:
    """What is wrong with the order of headings, each given as its level and its text."""
    if not outline or outline[0][0] != 1:
        return ["the first heading is not a title (#)"]
    findings = [f"a second title: {text!r}" for level, text in outline[1:] if level == 1]
    for (before, _), (level, text) in pairwise(outline):
        if level > before + 1:
            findings.append(f"the heading {text!r} has level {level} right below level {before}")
    return findings


def headings(text: str) -> list[tuple[int, str]]:
    """Level and text of each heading of a markdown text."""
    return [(len(marks), words) for marks, words in _HEADING.findall(without_fences(text))]


def tables_without_header(notebook: NotebookNode) -> list[str]:
    """Tables whose columns have no names, in markdown or in HTML outputs."""
    findings = []
    for where, text in _markdown(notebook):
        findings += [f"{where}: {fault}" for fault in markdown_tables_without_header(text)]
    for where, output in _outputs(notebook):
        for table in _read_html(output.data.get("text/html", "")).headless_tables:
            findings.append(f"{where}: a table has no header cells (<th>): {table}")
    return findings


def markdown_tables_without_header(text: str) -> list[str]:
    """The header rows of a markdown text in which a column has no name."""
    rows = (row[1:-1].split("|") for row in _TABLE.findall(without_fences(text)))
    return [
        f"a column of this table has no name: |{'|'.join(row)}|"
        for row in rows
        if not all(cell.strip() for cell in row)
    ]


def long_cells(notebook: NotebookNode) -> list[str]:
    """Code cells that hold more than one idea, told by their length."""
    findings = []
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type != "code":
            continue
        lines = sum(bool(line.strip()) for line in cell.source.splitlines())
        generated = "bootstrap" in cell.metadata.get("tags", [])
        answer = cell.metadata.get("nbgrader", {}).get("solution", False)
        longest = LONGEST_ANSWER if answer else LONGEST_CELL
        longest = LONGEST_BOOTSTRAP if generated else longest
        if lines > longest:
            findings.append(
                f"cell {number} ({first_line(cell.source)}) has {lines} lines, more than {longest}"
            )
    return findings


def without_code(text: str) -> str:
    """Markdown without its code blocks and inline code, in which nothing is an image or a link."""
    return _FENCED.sub("", text)


def without_fences(text: str) -> str:
    """Markdown without its code blocks, inline code kept."""
    return _FENCED.sub(lambda found: "" if found.group(2) else found.group(), text)


class _Html(HTMLParser):
    """Notes the images and the tables of a piece of HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.images = 0
        self.silent_images: list[str] = []
        self.headless_tables: list[str] = []
        self._tables: list[dict[str, object]] = []
        self._untitled_drawing = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        decoration = given.get("aria-hidden") == "true"
        if tag == "img":
            self.images += 1
            if not given.get("alt", "").strip() and not decoration:
                self.silent_images.append(f"<img src={given.get('src', '')[:40]!r}> has no alt")
        elif tag == "svg":
            self.images += 1
            self._untitled_drawing = not (decoration or given.get("aria-label", "").strip())
        elif tag == "title":
            self._untitled_drawing = False
        elif tag == "table":
            self._tables.append({"headed": given.get("role") == "presentation", "text": ""})
        elif tag == "th" and self._tables:
            self._tables[-1]["headed"] = True

    def handle_data(self, data: str) -> None:
        if self._tables:
            self._tables[-1]["text"] += data.strip() + " "

    def handle_endtag(self, tag: str) -> None:
        if tag == "svg" and self._untitled_drawing:
            self.silent_images.append("an <svg> has neither <title> nor aria-label")
            self._untitled_drawing = False
        elif tag == "table" and self._tables:
            table = self._tables.pop()
            if not table["headed"]:
                self.headless_tables.append(str(table["text"])[:40].strip())


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
