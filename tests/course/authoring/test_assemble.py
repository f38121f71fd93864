"""Notebooks get a header, a setup cell and a footer; the start page lists lessons and labs."""

import pytest

from course.authoring.assemble import assemble_lesson
from course.authoring.build import build
from course.authoring.generated import start_page
from course.authoring.up_to_date import find_outdated
from tests.conftest import HEADER

TEXT = "# %% [markdown]\n# ## A section\n\n# %%\n1 + 1\n"


@pytest.fixture
def course(small_course):
    small_course.write("00_first", TEXT, title="First")
    small_course.write("01_second", TEXT, title="Second")
    return small_course


def test_lesson_is_between_header_and_footer(course):
    header, setup, _, code, footer = assemble_lesson(course.folder, "00_first").cells
    assert header.source.startswith("# First\n\nYou see what happens.\n\nAbout 5 minutes.")
    site = "https://colab.research.google.com/github/somebody/a-course/blob/v7"
    assert f"({site}/notebooks/00_first.ipynb)" in header.source
    # The setup cell is collapsed in Colab and in JupyterLab.
    collapsed = {"cellView": "form", "jupyter": {"source_hidden": True}}
    assert setup.metadata == {"tags": ["bootstrap"], **collapsed}
    assert code.source == "1 + 1"
    assert "Continue: [Second](01_second.ipynb)" in footer.source
    assert "labs/" not in footer.source
    assert "Continue" not in assemble_lesson(course.folder, "01_second").cells[-1].source


def test_cells_keep_their_ids_when_other_cells_change(course):
    before = [cell.id for cell in assemble_lesson(course.folder, "00_first").cells]
    changed = TEXT.replace("A section", "Another") + "\n# %%\n1 + 1\n"
    course.write("00_first", changed, title="First")
    after = [cell.id for cell in assemble_lesson(course.folder, "00_first").cells]
    assert len(set(before) - set(after)) == 1
    assert len(set(after)) == len(after)


def test_start_page_lists_built_lessons_and_labs_in_order(course, cells):
    assert "00_first" not in start_page(course.folder)
    for name in ("01_second", "00_first"):
        course.put(name, cells.notebook())
    folder = course.folder
    folder.lab_sources.mkdir(parents=True)
    folder.lab_source_path("00_first").write_text(HEADER + TEXT, encoding="utf-8")
    (folder.labs / "00_first.ipynb").write_text("{}")
    (course.root / "docs" / "es").mkdir(parents=True)
    (course.root / "docs" / "es" / "index.md").write_text("# Una página\n")
    lines = start_page(folder).splitlines()
    assert lines[2] == "[español](docs/es/index.md)"
    lesson = "- **00 [First](notebooks/00_first.ipynb)**, 5 minutes. You see what happens."
    first = lines.index(f"{lesson} Practice: [the lab](labs/00_first.ipynb), 5 minutes.")
    assert lines[first + 1].startswith("- **01 [Second](notebooks/01_second.ipynb)**")
    assert all(line == line.rstrip() for line in lines)
    assert "(../labs/00_first.ipynb)" in assemble_lesson(folder, "00_first").cells[-1].source


def test_build_updates_start_page_and_check_reports_outdated_one(small_course):
    index = small_course.root / "index.md"
    index.write_text("old")
    assert find_outdated(small_course.folder) == [
        "index.md is out of date. To fix it: course build"
    ]
    build(small_course.folder, [], log=lambda line: None)
    assert find_outdated(small_course.folder) == []
