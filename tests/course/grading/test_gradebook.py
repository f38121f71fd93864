"""What a grading leaves says where a machine failed, and where students' code ran in the open."""

import csv

import pytest

from course.grading.gradebook import write_class_page, write_gradebook
from course.grading.marking import NOT_JUDGED, PASSED, STOPPED, Mark, Marked
from course.grading.paper import Cell
from course.grading.submissions import Submission

RAN = [(Cell("student", "x = 1", 1), {"outputs": []})]


def marked(student, *marks, shut=True):
    return Marked(Submission(student, student), list(marks), ran=RAN, shut=shut)


@pytest.fixture
def page_of(tmp_path):
    def write(*everybody):
        return write_class_page(everybody, "01_lab", "A lab", {}, tmp_path).read_text()

    return write


def test_who_could_not_be_judged_has_no_points_rather_than_none(tmp_path):
    everybody = [marked("Ada", Mark(1, 0, 3, NOT_JUDGED)), marked("Bob", Mark(1, 0, 3, STOPPED))]
    with write_gradebook(everybody, "01_lab", tmp_path).open(encoding="utf-8-sig") as file:
        assert [row["points"] for row in csv.DictReader(file)] == ["", "0"]


def test_the_page_names_who_could_not_be_judged(page_of):
    page = page_of(marked("Ada", Mark(1, 0, 3, NOT_JUDGED)), marked("Bob", Mark(1, 3, 3, PASSED)))
    assert "1 could not be judged" in page
    assert "Grade again: Ada." in page


def test_the_page_says_when_the_code_ran_without_walls(page_of):
    warning = "ran without walls"
    assert warning in page_of(marked("Ada", Mark(1, 3, 3, PASSED), shut=False))
    assert warning not in page_of(marked("Ada", Mark(1, 3, 3, PASSED)))
