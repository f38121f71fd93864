"""The link rule finds each kind of broken link and badge."""

import pytest

from tests.rules.links import Links, anchors

COLAB = "https://colab.research.google.com/github/somebody/a-course/blob/v7"
GITHUB = "https://github.com/somebody/a-course"
BADGE = f"[![Open in Colab](https://example.org/badge.svg)]({COLAB}/notebooks/01_first.ipynb)"


@pytest.fixture
def course(small_course, cells):
    text = cells.text(f"# First\n\n{BADGE}\n\n## How `.to` works, and `x`")
    small_course.put("01_first", cells.notebook(text))
    (small_course.root / "README.md").write_text("# A course\n\n## For students\n")
    (small_course.root / "LICENSE").write_text("free")
    workflows = small_course.root / ".github" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "test.yml").write_text("on: push")
    return small_course


@pytest.fixture
def dead_links(course):
    """A function that returns the broken links of a page with this Markdown."""

    def check(text):
        page = course.folder.notebooks / "page.md"
        page.write_text(text, encoding="utf-8")
        return Links(course.folder).dead_links(page)

    return check


@pytest.mark.parametrize(
    "target",
    [
        "01_first.ipynb",
        "../README.md",
        "../README.md#for-students",
        "01_first.ipynb#How-.to-works,-and-x",
        "01_first.ipynb#how-to-works-and-x",
        "../",
        f"{COLAB}/notebooks/01_first.ipynb",
        GITHUB,
        f"{GITHUB}/blob/v7/LICENSE",
        f"{GITHUB}/tree/v7/notebooks",
        f"{GITHUB}/actions/workflows/test.yml",
        f"{GITHUB}/actions/workflows/test.yml/badge.svg",
        "https://example.org/anything",
        "https://github.com/pytorch/vision/issues/9536",
        "https://colab.research.google.com/assets/colab-badge.svg",
        "mailto:somebody@example.org",
    ],
)
def test_accepts_working_link(dead_links, target):
    assert dead_links(f"See [this]({target}).") == []


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("02_second.ipynb", "no such file"),
        ("../README.md#for-nobody", "README.md has no section of that name"),
        ("#for-nobody", "page.md has no section of that name"),
        ("01_first.ipynb#Nothing", "01_first.ipynb has no section of that name"),
        ("../../elsewhere", "no such file"),
        ("../..", "it is outside of the course"),
        (f"{COLAB}/notebooks/02_second.ipynb", "there is no notebooks/02_second.ipynb"),
        (COLAB.replace("v7", "v6") + "/notebooks/01_first.ipynb", "the tag of the course is v7"),
        (f"{GITHUB}/blob/v7/COPYING", "there is no COPYING"),
        (f"{GITHUB}/actions/workflows/tset.yml/badge.svg", "no such workflow"),
        ("https://github.com/anybody/a-course", "the course is published by somebody"),
        (COLAB.replace("somebody", "anybody") + "/x.ipynb", "is published by somebody"),
    ],
)
def test_finds_broken_link(dead_links, target, problem):
    [finding] = dead_links(f"See [this]({target}).")
    assert finding.startswith(f"{target}: ")
    assert problem in finding


@pytest.mark.parametrize(
    "text",
    [
        "![A picture](none.png)",
        '<img alt="A picture" src="none.png">',
        '[![A badge](https://example.org/badge.svg)](none.png "a title")',
        "See [this][1].\n\n[1]: none.png",
    ],
)
def test_finds_links_in_every_syntax(dead_links, text):
    assert dead_links(text) == ["none.png: no such file"]


@pytest.mark.parametrize("text", ["`x[0](y)`", "```\n[a](none.md)\n```", "    x = [a]"])
def test_ignores_links_in_code(dead_links, text):
    assert dead_links(text) == []


def test_accepts_badge_of_same_notebook(course):
    path = course.folder.notebook_path("01_first")
    assert Links(course.folder).badge_problems(path) == []


def test_finds_badge_of_another_notebook(course, cells):
    course.put("02_second", cells.notebook(cells.text(f"# Second\n\n{BADGE}")))
    [finding] = Links(course.folder).badge_problems(course.folder.notebook_path("02_second"))
    assert finding.endswith(f"not {COLAB}/notebooks/02_second.ipynb")


def test_finds_missing_badge(course, cells):
    course.put("02_second", cells.notebook(cells.text("# Second")))
    [finding] = Links(course.folder).badge_problems(course.folder.notebook_path("02_second"))
    assert finding.startswith("its badge opens nothing")


def test_heading_has_the_anchors_of_github_and_jupyterlab():
    assert anchors("How `.to` works") == {"how-to-works", "How-.to-works"}
