"""A notebook's page holds what it shows."""

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


def test_a_picture_from_elsewhere_is_shown_as_its_words(page_of):
    page = page_of("[![Open in Colab](https://example.org/badge.svg)](https://example.org/lab)")
    assert "badge.svg" not in page
    assert '<a href="https://example.org/lab">Open in Colab</a>' in page


def test_a_page_leads_back_unless_it_stands_alone(page_of):
    assert 'href="all.html"' in page_of("text", index="all.html")
    assert "All notebooks" not in page_of("text", index="")
