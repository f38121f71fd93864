"""The tables and the class page report machine failures and missing sandboxes."""

import csv
import zipfile
from datetime import datetime, timedelta

import pytest

from course.course_folder import CourseError
from course.grading.answers import CellKind, SubmittedCell

from course.grading.gradebook import write_class_page, write_tables, write_feedback, write_feedback_zip
from course.grading.results import GradedSubmission, Mark, MarkStatus
from course.grading.results import MANUAL, find_unmatched_rows, read_manual_points
from course.grading.students import Student
from course.grading.students import Submission

CELLS = [(SubmittedCell(CellKind.STUDENT, "x = 1", 1), {"outputs": []})]


def graded_submission(name, *marks, isolated=True, platform="", late=False):
    identity = Student(name, "7" if platform else "", platform)
    submission = Submission(name, name, identity=identity, late=late)
    return GradedSubmission(submission, list(marks), cells=CELLS, isolated=isolated)


def read_table(folder, name):
    with (folder / name).open(encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def make_page(tmp_path):
    def write(*submissions):
        return write_class_page(submissions, "01_lab", "A lab", [], tmp_path).read_text()

    return write


NOT_GRADED, TO_REVIEW = MarkStatus.NOT_GRADED, MarkStatus.TO_REVIEW


def test_ungraded_exercise_has_empty_points_instead_of_0(tmp_path):
    submissions = [
        graded_submission("Ada", Mark(1, 0, 3, NOT_GRADED)),
        graded_submission("Bob", Mark(1, 0, 3, MarkStatus.STOPPED)),
        graded_submission("Cy", Mark(1, 0, 3, TO_REVIEW)),
    ]
    write_tables(submissions, "01_lab", "A lab", tmp_path)
    assert [row["points"] for row in read_table(tmp_path, "gradebook.csv")] == ["", "0", ""]
    assert [row["points"] for row in read_table(tmp_path, "totals.csv")] == ["", "0", ""]


def test_moodle_table_has_the_columns_that_moodle_imports(tmp_path):
    submissions = [
        graded_submission("Ada", Mark(1, 2.5, 3, MarkStatus.MANUAL, "almost"), platform="moodle"),
        graded_submission("Bob", Mark(1, 0, 3, NOT_GRADED), platform="moodle"),
    ]
    write_tables(submissions, "01_lab", "A lab", tmp_path)
    header, *rows = list(csv.reader((tmp_path / "moodle.csv").open(encoding="utf-8-sig")))
    assert header == [
        *("Identifier", "Full name", "Grade", "Maximum Grade", "Last modified (grade)"),
        "Feedback comments",
    ]
    date = rows[0].pop(4)
    assert rows[0] == ["Participant 7", "Ada", "2.5", "3", "Exercise 1: manual: almost"]
    assert abs(datetime.now().astimezone() - datetime.fromisoformat(date)) < timedelta(minutes=10)
    assert rows[1][2] == ""


def test_canvas_table_has_the_columns_that_canvas_imports(tmp_path):
    submission = graded_submission(
        "lovelaceada", Mark(1, 2, 3, MarkStatus.PASSED), platform="canvas"
    )
    write_tables([submission], "01_lab", "A lab", tmp_path)
    maximum, row = read_table(tmp_path, "canvas.csv")
    assert list(row) == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "A lab"]
    assert maximum["Student"].strip() == "Points Possible"
    assert maximum["A lab"] == "3"
    assert (row["Student"], row["ID"], row["A lab"]) == ("lovelaceada", "7", "2")
    assert not (tmp_path / "moodle.csv").exists()


def test_late_submissions_are_marked(tmp_path, make_page):
    submission = graded_submission("Ada", Mark(1, 2, 3, MarkStatus.PASSED), late=True)
    write_tables([submission], "01_lab", "A lab", tmp_path)
    assert read_table(tmp_path, "totals.csv")[0]["late"] == "late"
    assert ">late<" in make_page(submission)


def test_page_lists_students_who_could_not_be_graded(make_page):
    page = make_page(
        graded_submission("Ada", Mark(1, 0, 3, NOT_GRADED)),
        graded_submission("Bob", Mark(1, 3, 3, MarkStatus.PASSED)),
    )
    assert "1 submission could not be graded" in page
    assert "only these are graded again: Ada." in page


def test_page_warns_if_there_was_no_sandbox(make_page):
    warning = "ran without a sandbox"
    assert warning in make_page(
        graded_submission("Ada", Mark(1, 3, 3, MarkStatus.PASSED), isolated=False)
    )
    assert warning not in make_page(graded_submission("Ada", Mark(1, 3, 3, MarkStatus.PASSED)))


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", "\uff1d1+1"])
def test_no_name_is_a_formula_in_a_spreadsheet(tmp_path, name):
    write_tables(
        [graded_submission(name, Mark(1, 3, 3, MarkStatus.PASSED))], "01_lab", "A lab", tmp_path
    )
    assert [row["student"] for row in read_table(tmp_path, "totals.csv")] == [f"'{name}"]


def test_names_that_are_not_unicode_get_their_rows_and_feedback(tmp_path, make_page):
    submission = graded_submission("J\udcf6rg", Mark(1, 3, 3, MarkStatus.PASSED))
    submission.page = "page.html"
    (tmp_path / "page.html").write_text("feedback")
    write_tables([submission], "01_lab", "A lab", tmp_path)
    assert [row["student"] for row in read_table(tmp_path, "totals.csv")] == ["J?rg"]
    assert "J?rg" in make_page(submission)
    with zipfile.ZipFile(write_feedback_zip([submission], tmp_path)) as archive:
        assert archive.namelist() == ["J_rg/feedback.html"]


def test_manual_points_without_a_submission_are_reported(tmp_path):
    (tmp_path / MANUAL).write_text(
        "student,exercise,points,comment\nAda,1,2,\nAdda,1,2,\nAda,9,1,\n"
    )
    submissions = [graded_submission("Ada", Mark(1, 0, 3, MarkStatus.WRONG))]
    assert find_unmatched_rows(read_manual_points(tmp_path), submissions) == [
        "Adda, exercise 1",
        "Ada, exercise 9",
    ]


@pytest.mark.parametrize("line", ["Ada,1,nan,", "Ada,1,inf,", "Ada,one,2,", "Ada;1;2;"])
def test_manual_points_that_are_not_numbers_are_reported_with_their_line(tmp_path, line):
    (tmp_path / MANUAL).write_text(f"student,exercise,points,comment\n{line}\n")
    with pytest.raises(
        CourseError, match=r"manual.csv, line 2: expected student, exercise, points"
    ):
        read_manual_points(tmp_path)


def test_feedback_shows_names_in_backquotes_as_code_and_escapes_the_rest(tmp_path):
    mark = Mark(1, 0, 3, MarkStatus.WRONG, "`f(a|b)` returns <b>x</b> and `*y*")
    page = write_feedback(graded_submission("Ada", mark), "A lab", tmp_path)
    row = page.read_text().partition("<td>wrong")[2].partition("</td>")[0]
    assert row == ": <code>f(a|b)</code> returns &lt;b&gt;x&lt;/b&gt; and `*y*"
