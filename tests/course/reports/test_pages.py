"""A notebook's page needs no network, links to its neighbors, and is readable."""

import re

import nbformat
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from course.reports.pages import write_page

COLORS = ("red", "green", "yellow", "blue", "magenta", "cyan")  # of text in terminals
BACKGROUND, CODE, ERROR = "#ffffff", "#f5f5f5", "#ffdddd"  # of JupyterLab's light theme


@pytest.fixture
def make_page(cells, tmp_path):
    def write(text, metadata=None, **options):
        file, notebook = tmp_path / "one.ipynb", cells.notebook(cells.text(text))
        notebook.metadata.update(metadata or {})
        nbformat.write(notebook, file)
        return write_page(file, **options).read_text(encoding="utf-8")

    return write


def test_remote_image_is_replaced_by_its_text(make_page):
    page = make_page("[![Open in Colab](https://example.org/badge.svg)](https://example.org/lab)")
    assert "badge.svg" not in page
    assert '<a href="https://example.org/lab">Open in Colab</a>' in page


def test_page_links_to_its_index_unless_there_is_none(make_page):
    assert 'href="all.html"' in make_page("text", index="all.html")
    assert "All notebooks" not in make_page("text", index="")


def test_relative_links_open_only_pages_in_the_same_folder(make_page):
    page = make_page(
        "[next](02_b.ipynb#end), [lab](../labs/01_a.ipynb), [last](09_c.ipynb), "
        "[torch](https://pytorch.org), [above](#above)",
        sibling_names=["02_b"],
    )
    assert '<a href="02_b.html#end">next</a>, lab, last, ' in page
    assert '<a href="https://pytorch.org">torch</a>' in page
    assert '<a href="#above">above</a>' in page


def contrast(*colors):
    """Return the contrast ratio of two colors, as in WCAG 2.1."""
    rgb = np.array([to_rgb(color) for color in colors])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    low, high = sorted(linear @ [0.2126, 0.7152, 0.0722])
    return (high + 0.05) / (low + 0.05)


def test_text_colors_have_a_contrast_of_4_5(make_page):
    # The last style sheet overrides the theme's colors.
    names = " ".join(f"ansi-{c}-fg" for c in COLORS)
    page = make_page(f'<b class="jp-RenderedText {names}">text</b>')
    style = page.rpartition("<style>")[2].partition("</style>")[0]
    terminal = re.findall(r"ansi-(\w+)-fg { color: (#\w{6})", style)
    code = re.findall(r"(--jp-mirror-editor-\w+)-color: (#\w{6})", style)
    prompt = re.findall(r"(prompt-not-active-font)-color: (#\w{6})", style)
    assert (len(terminal), len(code), len(prompt)) == (6, 4, 1)
    for group, background in ((terminal, ERROR), (code, CODE), (prompt, BACKGROUND)):
        for _, color in group:
            assert contrast(color, background) >= 4.5


def test_page_has_only_style_rules_whose_classes_occur(make_page):
    page = make_page("| a | b |\n|---|---|\n| `1` | 2 |")
    assert len(page) < 60_000  # JupyterLab's styles alone have 250,000 characters
    assert ".jp-RenderedHTMLCommon table" in page
    assert ".jp-RenderedHTMLCommon a:hover" in page
    assert ".jp-FileDialog" not in page


@pytest.mark.parametrize("language", ["en", "ja"])
def test_page_declares_its_language(make_page, language):
    metadata = {"course": {"language": language}} if language != "en" else {}
    assert f'<html lang="{language}">' in make_page("text", metadata)


def test_collapsed_answer_stays_collapsed(make_page):
    page = make_page("<details><summary>Answer</summary>\n\nOn the GPU.\n\n</details>")
    assert page.index("On the GPU.") < page.index("</details>")
