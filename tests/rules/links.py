"""Find broken links in the course: files, sections, badges, other copies of the course.

No network is needed: a link to the published copy is checked in this clone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

import nbformat

from course.course_folder import CourseFolder
from tests.rules.lint import headings, without_code

_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|(?:href|src)=\"([^\"]+)\"")
_REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?(\S+?)>?\s*$", re.MULTILINE)
_PUBLISHED = re.compile(
    r"https://(?:(?P<colab>colab\.research\.google\.com/github)|github\.com)"
    r"/(?P<repository>[^/\s]+/[^/\s#?]+)(?:/(?P<kind>blob|tree|raw)/(?P<rest>[^#?]+))?"
    r"(?:/actions/workflows/(?P<workflow>[^/#?]+))?"
)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


@dataclass
class Links:
    """Checks the links in a course's pages; reads each linked file once."""

    course: CourseFolder
    _anchors: dict[Path, set[str]] = field(default_factory=dict)

    def dead_links(self, page: Path) -> list[str]:
        """Return a sentence for each broken link of a notebook or a Markdown file."""
        findings = []
        for target in links_of(page_text(page)):
            if target.startswith("attachment:"):
                continue
            if match := _PUBLISHED.match(target):
                problem = self._published_problem(match)
            elif _ELSEWHERE.match(target):
                continue
            else:
                problem = self._local_problem(page, target)
            if problem:
                findings.append(f"{target}: {problem}")
        return findings

    def badge_problems(self, notebook: Path) -> list[str]:
        """Return what is wrong with a notebook's badge, which must open the same notebook."""
        path = notebook.relative_to(self.course.root).as_posix()
        site = "https://colab.research.google.com/github"
        expected = f"{site}/{self.course.repository}/blob/{self.course.tag}/{path}"
        opening = nbformat.read(notebook, as_version=4).cells[0].source
        badges = [link for link in links_of(opening) if link.startswith(site)]
        if badges[:1] != [expected]:
            return [f"its badge opens {badges[0] if badges else 'nothing'}, not {expected}"]
        return []

    def _published_problem(self, match: re.Match[str]) -> str:
        course = self.course
        owner = course.repository.split("/")[0]
        if match["repository"].removesuffix(".git") != course.repository:
            # Links to other repositories are fine, except to other copies of the course.
            is_copy = match["repository"].split("/")[-1] == course.repository.split("/")[-1]
            return f"the course is published by {owner}" if is_copy else ""
        if match["workflow"]:
            file = course.root / ".github" / "workflows" / match["workflow"]
            return "" if file.is_file() else "there is no such workflow"
        if not match["rest"]:
            return "a badge needs a notebook" if match["colab"] else ""
        rest = unquote(match["rest"])
        if not rest.startswith(f"{course.tag}/"):
            return "" if rest == course.tag else f"the tag of the course is {course.tag}"
        path = rest.removeprefix(f"{course.tag}/")
        return "" if (course.root / path).exists() else f"there is no {path} in the course"

    def _local_problem(self, page: Path, target: str) -> str:
        name, _, anchor = target.partition("#")
        file = page.parent / unquote(name) if name else page
        if not file.exists():
            return "no such file"
        if self.course.root.resolve() not in (file.resolve(), *file.resolve().parents):
            return "it is outside of the course"
        if (
            anchor
            and file.suffix in (".md", ".ipynb")
            and unquote(anchor) not in self._anchors_of(file)
        ):
            return f"{file.name} has no section of that name"
        return ""

    def _anchors_of(self, file: Path) -> set[str]:
        file = file.resolve()
        if file not in self._anchors:
            text = page_text(file)
            names = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
            for _, words in headings(text):
                names |= anchors(words)
            self._anchors[file] = names
        return self._anchors[file]


def links_of(text: str) -> list[str]:
    """Return the targets of all links and images in a Markdown text, except in code."""
    prose = without_code(text)
    pairs = _LINK.findall(prose)
    # A badge is an image in a link; the image's target comes first.
    return [a or b for a, b in pairs] + _REFERENCE.findall(prose)


def anchors(heading: str) -> set[str]:
    """Return the anchors that GitHub and JupyterLab give a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip()
    github = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
    return {github, plain.replace(" ", "-")}


def page_text(page: Path) -> str:
    """Return the text of a Markdown file, or of all Markdown cells of a notebook."""
    if page.suffix != ".ipynb":
        return page.read_text(encoding="utf-8")
    cells = nbformat.read(page, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
