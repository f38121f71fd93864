"""Rules for notebooks and Markdown files: they are accessible, and no link is broken.

Markdown is rendered to HTML first, so that one rule reads both. A rule returns one sentence per
problem. The rules for outputs are in `course.authoring.stored_outputs`. No network is needed: a
link to the published copy is checked in this clone.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import nbformat
from bs4 import BeautifulSoup
from markdown_it import MarkdownIt
from nbformat import NotebookNode

from course.authoring.stored_outputs import first_line
from course.course_folder import CourseFolder

# Lines of code that are not blank. The style guide recommends about 15 lines per cell.
MAX_CELL_LINES = 18
# An answer to an exercise may consist of several small functions.
MAX_ANSWER_LINES = 34
# The setup cell, which is collapsed, may be longer.
MAX_SETUP_LINES = 46

_MARKDOWN = MarkdownIt("commonmark").enable("table")
_HEADINGS = [f"h{level}" for level in range(1, 7)]
_COLAB = "https://colab.research.google.com/github"
_PUBLISHED = re.compile(
    rf"(?:(?P<colab>{_COLAB})|https://github\.com)"
    r"/(?P<repository>[^/\s]+/[^/\s#?]+)(?:/(?P<kind>blob|tree|raw)/(?P<rest>[^#?]+))?"
    r"(?:/actions/workflows/(?P<workflow>[^/#?]+))?"
)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


def read_page(page: Path) -> BeautifulSoup:
    """Return a Markdown file, or all Markdown cells of a notebook, as HTML."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = nbformat.reads(text, as_version=4).cells
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return BeautifulSoup(_MARKDOWN.render(text), "html.parser")


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


class Links:
    """Checks the links in a course's pages; reads each linked file once."""

    def __init__(self, course: CourseFolder) -> None:
        self.course = course

    def dead_links(self, page: Path) -> list[str]:
        """Return a sentence for each broken link of a notebook or a Markdown file."""
        findings = []
        for target in links_of(page):
            if match := _PUBLISHED.match(target):
                problem = self._published_problem(match)
            elif _ELSEWHERE.match(target):  # also an attachment
                continue
            else:
                problem = self._local_problem(page, target)
            if problem:
                findings.append(f"{target}: {problem}")
        return findings

    def badge_problems(self, notebook: Path) -> list[str]:
        """Return what is wrong with a notebook's badge, which must open the same notebook."""
        path = notebook.relative_to(self.course.root).as_posix()
        expected = f"{_COLAB}/{self.course.repository}/blob/{self.course.tag}/{path}"
        badges = [link for link in links_of(notebook) if link.startswith(_COLAB)]
        if badges[:1] != [expected]:
            return [f"its badge opens {badges[0] if badges else 'nothing'}, not {expected}"]
        return []

    def _published_problem(self, match: re.Match[str]) -> str:
        course = self.course
        owner, name = course.repository.split("/")
        if match["repository"].removesuffix(".git") != course.repository:
            # Links to other repositories are fine, except to other copies of the course.
            is_copy = match["repository"].split("/")[-1] == name
            return f"the course is published by {owner}" if is_copy else ""
        if match["workflow"]:
            file = course.root / ".github" / "workflows" / match["workflow"]
            return "" if file.is_file() else "there is no such workflow"
        if not match["rest"]:
            return "a badge needs a notebook" if match["colab"] else ""
        tag, _, path = unquote(match["rest"]).partition("/")
        if tag != course.tag:
            return f"the tag of the course is {course.tag}"
        return "" if (course.root / path).exists() else f"there is no {path} in the course"

    def _local_problem(self, page: Path, target: str) -> str:
        name, _, anchor = target.partition("#")
        file = page.parent / unquote(name) if name else page
        if not file.exists():
            return "no such file"
        if self.course.root.resolve() not in (file.resolve(), *file.resolve().parents):
            return "it is outside of the course"
        is_page = file.suffix in (".md", ".ipynb")
        if anchor and is_page and unquote(anchor) not in anchors_of(file.resolve()):
            return f"{file.name} has no section of that name"
        return ""


def links_of(page: Path) -> list[str]:
    """Return the targets of all links and images in a page."""
    html = read_page(page)
    return [link["href"] for link in html("a", href=True)] + [i["src"] for i in html("img")]


@cache
def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page, as GitHub and JupyterLab name those of headings."""
    html = read_page(page)
    anchors = {link.get("id") or link.get("name") for link in html("a", href=False)}
    for heading in html(_HEADINGS):
        text = heading.get_text().strip()
        anchors |= {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-"), text.replace(" ", "-")}
    return anchors
