"""Find broken links in the course: files, sections, badges, other copies of the course.

No network is needed: a link to the published copy is checked in this clone.
"""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from course.course_folder import CourseFolder
from tests.rules.lint import read_page

_COLAB = "https://colab.research.google.com/github"
_PUBLISHED = re.compile(
    rf"(?:(?P<colab>{_COLAB})|https://github\.com)"
    r"/(?P<repository>[^/\s]+/[^/\s#?]+)(?:/(?P<kind>blob|tree|raw)/(?P<rest>[^#?]+))?"
    r"(?:/actions/workflows/(?P<workflow>[^/#?]+))?"
)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


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
    for heading in html(re.compile("^h[1-6]$")):
        text = heading.get_text().strip()
        anchors |= {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-"), text.replace(" ", "-")}
    return anchors
