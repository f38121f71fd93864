"""Each rule for pages finds its problem, and accepts a page without problems."""

from pathlib import Path

import pytest
from nbval.plugin import get_sanitize_patterns

from tests.rules.audit import is_compared
from tests.rules.pages import MAX_CELL_LINES, Links, lint_page

COLAB = "https://colab.research.google.com/github/somebody/a-course/blob/v7"
BADGE = f"[![Open in Colab](attachment:badge.png)]({COLAB}/notebooks/01_first.ipynb)"
PNG = {"image/png": "iVBORw0KGgo="}


@pytest.fixture
def put(small_course, cells):
    """A function that writes 01_first.ipynb, with a title, a badge and these cells."""

    def put(*others, opening=f"# First\n\n{BADGE}"):
        small_course.put("01_first", cells.notebook(cells.text(opening), *others))
        return small_course.folder.notebook_path("01_first")

    return put


def test_accepts_page_without_problems(put, small_course, cells):
    figure = cells.display_data(PNG | {"text/html": '<img alt="Two bars." src="data:">'})
    page = put(
        cells.text("## One `x`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n`![](none)`"),
        cells.text("[one](#one-x), [One](01_first.ipynb#One-x), [other](https://example.org)"),
        cells.code("show()", figure),
    )
    links = Links(small_course.folder)
    assert [*lint_page(page), *links.dead_links(page), *links.badge_problems(page)] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("![](chip.png)", "the image chip.png has no alt text"),
        ("<svg><rect/></svg>", "an <svg> has neither <title> nor aria-label"),
        ("### Too deep", "the heading 'Too deep' has level 3 right below level 1"),
        ("| a | |\n|---|---|\n| 1 | 2 |", "a column of this table has no name: a 1 2"),
    ],
)
def test_finds_inaccessible_text(put, cells, text, problem):
    assert lint_page(put(cells.text(text))) == [problem]


def test_finds_inaccessible_outputs_and_long_cells(put, cells):
    table = cells.display_data({"text/html": "<table><tr><td>x</td></tr></table>"})
    figure = cells.display_data(PNG)
    long_code = "x = 1\n" * (MAX_CELL_LINES + 1)
    assert lint_page(put(cells.code("a()", table), cells.code("b()", figure))) == [
        "cell 2 (a()): a column of this table has no name: x",
        "cell 3 (b()): a figure (image/png) has no alt text",
    ]
    assert "has 19 lines, more than 18" in lint_page(put(cells.code(long_code)))[0]


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("02_second.ipynb", "no such file"),
        ("#for-nobody", "01_first.ipynb has no section of that name"),
        ("../..", "it is outside of the course"),
        (f"{COLAB}/notebooks/02_second.ipynb", "there is no notebooks/02_second.ipynb"),
        ("https://github.com/somebody/a-course/actions/workflows/t.yml", "no such workflow"),
        ("https://github.com/anybody/a-course", "the course is published by somebody"),
    ],
)
def test_finds_broken_link(put, small_course, cells, target, problem):
    [finding] = Links(small_course.folder).dead_links(put(cells.text(f"See [this]({target}).")))
    assert finding.startswith(f"{target}: ")
    assert problem in finding


def test_finds_missing_badge(put, small_course):
    [finding] = Links(small_course.folder).badge_problems(put(opening="# First"))
    assert finding.startswith("its badge opens nothing")


def test_only_visible_unmasked_text_counts_as_compared(cells):
    sanitizer = Path(__file__).parents[1] / "nbval_sanitize.cfg"
    patterns = get_sanitize_patterns(sanitizer.read_text(encoding="utf-8"))
    ignored = [
        cells.code("a = 1"),
        cells.code("1", cells.value("1"), tags=["nbval-ignore-output"]),
        cells.code("# NBVAL_SKIP\n1", cells.value("1")),
        cells.code("1", cells.value("1"), count=None),
        cells.code("1", cells.stream("text", name="stderr")),
        cells.code("1", cells.display_data(PNG | {"text/plain": "<Figure>"})),
        cells.code("1", cells.value("'12.3 s'")),
    ]
    assert is_compared(cells.code("1", cells.value("1")), patterns)
    assert not any(is_compared(cell, patterns) for cell in ignored)
