"""Links and badges are followed inside the checkout; each way of being dead is planted once."""

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
def dead(course):
    """What is found on a page of the course that holds this markdown."""

    def look(text):
        page = course.folder.notebooks / "page.md"
        page.write_text(text, encoding="utf-8")
        return Links(course.folder).dead_links(page)

    return look


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
def test_what_leads_somewhere_is_left_alone(dead, target):
    assert dead(f"See [this]({target}).") == []


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ("02_second.ipynb", "there is no such file"),
        ("../README.md#for-nobody", "README.md has no section of that name"),
        ("#for-nobody", "page.md has no section of that name"),
        ("01_first.ipynb#Nothing", "01_first.ipynb has no section of that name"),
        ("../../elsewhere", "there is no such file"),
        ("../..", "it leads out of the course"),
        (f"{COLAB}/notebooks/02_second.ipynb", "there is no notebooks/02_second.ipynb"),
        (COLAB.replace("v7", "v6") + "/notebooks/01_first.ipynb", "the tag of the course is v7"),
        (f"{GITHUB}/blob/v7/LICENCE", "there is no LICENCE"),
        (f"{GITHUB}/actions/workflows/tset.yml/badge.svg", "no such workflow"),
        ("https://github.com/anybody/a-course", "the course is published by somebody"),
        (COLAB.replace("somebody", "anybody") + "/x.ipynb", "is published by somebody"),
    ],
)
def test_a_dead_link_is_found(dead, target, fault):
    [finding] = dead(f"See [this]({target}).")
    assert finding.startswith(f"{target}: ")
    assert fault in finding


@pytest.mark.parametrize(
    "text",
    [
        "![A picture](none.png)",
        '<img alt="A picture" src="none.png">',
        '[![A badge](https://example.org/badge.svg)](none.png "a title")',
        "See [this][1].\n\n[1]: none.png",
    ],
)
def test_links_are_found_however_they_are_written(dead, text):
    assert dead(text) == ["none.png: there is no such file"]


@pytest.mark.parametrize("text", ["`x[0](y)`", "```\n[a](none.md)\n```", "    x = [a]"])
def test_code_is_no_link(dead, text):
    assert dead(text) == []


def test_the_badge_of_the_notebook_itself_is_right(course):
    path = course.folder.notebook_of("01_first")
    assert Links(course.folder).badge_faults(path) == []


def test_a_badge_to_another_notebook_is_found(course, cells):
    course.put("02_second", cells.notebook(cells.text(f"# Second\n\n{BADGE}")))
    [finding] = Links(course.folder).badge_faults(course.folder.notebook_of("02_second"))
    assert finding.endswith(f"not to {COLAB}/notebooks/02_second.ipynb")


def test_a_missing_badge_is_found(course, cells):
    course.put("02_second", cells.notebook(cells.text("# Second")))
    [finding] = Links(course.folder).badge_faults(course.folder.notebook_of("02_second"))
    assert finding.startswith("its badge leads to nothing")


def test_a_heading_is_linked_to_as_github_and_as_jupyter_name_it():
    assert anchors("How `.to` works") == {"how-to-works", "How-.to-works"}
