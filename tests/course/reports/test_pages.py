"""What the page of a notebook shows."""

import nbformat
import pytest

from course.reports.pages import write_page


@pytest.fixture
def page_of(cells, tmp_path):
    def write(text, **how):
        file = tmp_path / "one.ipynb"
        nbformat.write(cells.notebook(cells.text(text)), file)
        return write_page(file, **how).read_text(encoding="utf-8")

    return write


def test_remote_image_is_replaced_by_its_text(page_of):
    page = page_of("[![Open in Colab](https://example.org/badge.svg)](https://example.org/lab)")
    assert "badge.svg" not in page
    assert '<a href="https://example.org/lab">Open in Colab</a>' in page


def test_page_links_to_its_index_unless_there_is_none(page_of):
    assert 'href="all.html"' in page_of("text", index="all.html")
    assert "All notebooks" not in page_of("text", index="")


def test_links_lead_to_pages_beside_it_and_nowhere_else(page_of):
    page = page_of(
        "[next](02_b.ipynb#end), [lab](../labs/01_a.ipynb), [last](09_c.ipynb), "
        "[torch](https://pytorch.org), [above](#above)",
        beside=["02_b"],
    )
    assert '<a href="02_b.html#end">next</a>, lab, last, ' in page
    assert '<a href="https://pytorch.org">torch</a>' in page
    assert '<a href="#above">above</a>' in page
