"""The start page lists every built lesson and lab; the stored page is up to date."""

import shutil
from pathlib import Path

from course.authoring.build import build
from course.authoring.generated import start_page
from course.authoring.up_to_date import find_outdated
from course.course_folder import open_course

ROOT = Path(__file__).parents[3]


def test_the_start_page_of_the_course_is_up_to_date():
    stored = (ROOT / "index.md").read_text(encoding="utf-8")
    assert stored == start_page(open_course(ROOT)), "To fix it: course build"


def add_lesson(course, cells, name, title):
    course.write(name, "# %%\n1\n", title=title)
    course.put(name, cells.notebook(cells.code("1", cells.value("1"))))


def test_lists_lessons_in_order_with_title_minutes_and_promise(small_course, cells):
    add_lesson(small_course, cells, "01_two", "The second")
    add_lesson(small_course, cells, "00_one", "The first")
    page = start_page(small_course.folder)
    first = "- **00 [The first](notebooks/00_one.ipynb)**, 5 minutes. You see what happens.\n"
    assert first in page
    assert page.index(first) < page.index("- **01 [The second](notebooks/01_two.ipynb)**")


def test_omits_lesson_that_is_not_built(small_course):
    small_course.write("00_one", "# %%\n1\n")
    assert "00_one" not in start_page(small_course.folder)


def test_lists_lab_with_its_lesson(small_course, cells):
    add_lesson(small_course, cells, "00_one", "The first")
    assert "labs/" not in start_page(small_course.folder)
    labs = small_course.root / "labs"
    (labs / "source").mkdir(parents=True)
    shutil.copy(small_course.folder.source_path("00_one"), labs / "source" / "00_one.py")
    (labs / "00_one.ipynb").write_text("{}")
    assert "Practice: [the lab](labs/00_one.ipynb), 5 minutes." in start_page(small_course.folder)


def test_links_to_the_start_pages_in_other_languages(small_course, cells):
    add_lesson(small_course, cells, "00_one", "The first")
    assert "docs/es" not in start_page(small_course.folder)
    (small_course.root / "docs" / "es").mkdir(parents=True)
    (small_course.root / "docs" / "es" / "index.md").write_text("# Una página\n")
    line = start_page(small_course.folder).splitlines()[2]
    assert line == "[español](docs/es/index.md)"


def test_build_updates_start_page_and_check_reports_outdated_one(small_course):
    small_course.write("00_one", "# %%\n1\n")
    index = small_course.root / "index.md"
    index.write_text("old")
    build(small_course.folder, [], log=lambda line: None)
    assert "notebooks/00_one.ipynb" in index.read_text(encoding="utf-8")
    assert find_outdated(small_course.folder) == []
    index.write_text("old")
    assert find_outdated(small_course.folder) == [
        "index.md is out of date. To fix it: course build"
    ]


def test_start_page_has_no_trailing_spaces(small_course, cells):
    add_lesson(small_course, cells, "00_one", "The first")
    assert not [
        line for line in start_page(small_course.folder).splitlines() if line != line.rstrip()
    ]
