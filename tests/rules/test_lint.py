"""Each rule finds its problem and nothing else."""

import pytest

from tests.rules.lint import MAX_CELL_LINES, MAX_SETUP_LINES, lint_notebook

PNG = "iVBORw0KGgo="
FIGURE = '<figure><img alt="Two bars." src="data:image/png;base64,iVBORw0KGgo="></figure>'
TABLE = "<table><tr><th>name</th></tr><tr><td>x</td></tr></table>"


@pytest.fixture
def figure(cells):
    """A function that makes an output with a figure, with or without alt text."""

    def make(alt=None, html=None):
        output = cells.display_data({"image/png": PNG} | ({"text/html": html} if html else {}))
        if alt is not None:
            output.metadata["image/png"] = {"alt": alt}
        return output

    return make


@pytest.fixture
def lint(cells):
    """A function that checks a notebook with a title and these cells."""

    def lint_cells(*others):
        return lint_notebook(cells.notebook(cells.text("# A lesson"), *others))

    return lint_cells


def test_accepts_notebook_without_problems(lint, cells, figure):
    assert not lint(
        cells.text(
            "## One\n\n![A photograph of a chip.](chip.png)\n\n| a | b |\n|---|---|\n| 1 | 2 |"
        ),
        cells.text("### Two\n\n```python\n# no heading\n![](no image)\n```"),
        cells.code("show()", figure(alt="Two bars."), figure(html=FIGURE)),
        cells.code("where(x)", cells.display_data({"text/html": TABLE, "text/plain": "x"})),
        cells.code("x = 1\n\n" * MAX_CELL_LINES),
        cells.text("## Three"),
    )


@pytest.mark.parametrize("alt", [None, "", "  "])
def test_finds_figure_without_alt_text(lint, cells, figure, alt):
    [finding] = lint(cells.code("plots.show(figure)", figure(alt=alt)))
    assert finding == "cell 2 (plots.show(figure)): a figure (image/png) has no alt text"


@pytest.mark.parametrize("alt", ["", 'alt=""', 'alt=" "'])
def test_finds_html_figure_without_alt_text(lint, cells, figure, alt):
    html = FIGURE.replace('alt="Two bars."', alt)
    assert "has no alt" in lint(cells.code("show()", figure(html=html)))[0]


@pytest.mark.parametrize(
    ("attributes", "content", "has_finding"),
    [
        ("", "", True),
        ("", "<title>Two bars.</title>", False),
        ('aria-label="Two bars."', "", False),
        ('aria-hidden="true"', "", False),
    ],
)
def test_drawing_needs_title_unless_decorative(lint, cells, attributes, content, has_finding):
    html = f"<svg {attributes}>{content}<rect/></svg>"
    assert bool(lint(cells.code("show()", cells.display_data({"text/html": html})))) == has_finding


@pytest.mark.parametrize("image", ["![](chip.png)", "![ ](chip.png)", '<img src="chip.png">'])
def test_finds_markdown_image_without_alt_text(lint, cells, image):
    [finding] = lint(cells.text(f"Look:\n\n{image}"))
    assert "chip.png" in finding


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# Another", "a second title: 'Another'"),
        ("### Too deep", "the heading 'Too deep' has level 3 right below level 1"),
        ("## One\n\n#### Two", "the heading 'Two' has level 4 right below level 2"),
    ],
)
def test_finds_heading_out_of_order(lint, cells, text, problem):
    assert lint(cells.text(text)) == [problem]


def test_finds_notebook_without_title(cells):
    notebook = cells.notebook(cells.text("## A section"))
    assert lint_notebook(notebook) == ["the first heading is not a title (#)"]


def test_finds_html_table_without_header(lint, cells):
    html = TABLE.replace("th>", "td>")
    [finding] = lint(cells.code("where(x)", cells.display_data({"text/html": html})))
    assert "no header cells (<th>): name x" in finding


@pytest.mark.parametrize("header", ["| a | |", "|| b |", "|  | b |"])
def test_finds_markdown_table_with_unnamed_column(lint, cells, header):
    [finding] = lint(cells.text(f"{header}\n|---|:-:|\n| 1 | 2 |"))
    assert f"a column of this table has no name: {header}" in finding


def test_finds_long_cell(lint, cells):
    [finding] = lint(cells.code("x = 1\n" * (MAX_CELL_LINES + 1)))
    assert f"has {MAX_CELL_LINES + 1} lines" in finding


def test_set_up_cell_may_be_longer(lint, cells):
    code = "x = 1\n" * MAX_SETUP_LINES
    assert not lint(cells.code(code, tags=["bootstrap"]))
    assert lint(cells.code(code + "y = 1", tags=["bootstrap"]))
