"""The tables and the class page report machine failures and missing sandboxes."""

import csv
import zipfile
from datetime import datetime, timedelta

import pytest

from course.course_folder import CourseError
from course.grading import gradebook
from course.grading.answers import CellKind, SubmittedCell
from course.grading.gradebook import GradedSubmission, Mark, MarkStatus
from course.grading.submissions import Student, Submission

CELLS = [(SubmittedCell(CellKind.STUDENT, "x = 1", 1), {"outputs": []})]
PASSED, NOT_GRADED = Mark(1, 3, 3, MarkStatus.PASSED), Mark(1, 0, 3, MarkStatus.NOT_GRADED)


def graded_submission(name, *marks, isolated=True, platform="", late=False):
    identity = Student(name, "7" if platform else "", platform)
    submission = Submission(name, name, identity=identity, late=late)
    return GradedSubmission(submission, list(marks), cells=CELLS, isolated=isolated)


@pytest.fixture
def write(tmp_path):
    """A function that writes the tables of a class, and returns a function that reads one."""

    def write(*submissions):
        gradebook.write_tables(submissions, "01_lab", "A lab", tmp_path)
        return lambda name: list(csv.DictReader((tmp_path / name).open(encoding="utf-8-sig")))

    return write


def page_of(folder, *submissions):
    return gradebook.write_class_page(submissions, "01_lab", "A lab", [], folder).read_text()


def test_ungraded_exercise_has_empty_points_instead_of_0(write):
    stopped = Mark(1, 0, 3, MarkStatus.STOPPED)
    read = write(graded_submission("Ada", NOT_GRADED), graded_submission("Bob", stopped))
    assert [row["points"] for row in read("gradebook.csv")] == ["", "0"]
    assert [row["points"] for row in read("totals.csv")] == ["", "0"]


def test_moodle_table_has_the_columns_that_moodle_imports(write):
    mark = Mark(1, 2.5, 3, MarkStatus.MANUAL, "almost")
    read = write(
        graded_submission("Ada", mark, platform="moodle"),
        graded_submission("Bob", NOT_GRADED, platform="moodle"),
    )
    ada, bob = read("moodle.csv")
    date = ada.pop("Last modified (grade)")
    assert abs(datetime.now().astimezone() - datetime.fromisoformat(date)) < timedelta(minutes=10)
    assert ada == {
        "Identifier": "Participant 7",
        "Full name": "Ada",
        "Grade": "2.5",
        "Maximum Grade": "3",
        "Feedback comments": "Exercise 1: manual: almost",
    }
    assert bob["Grade"] == ""


def test_canvas_table_has_the_columns_that_canvas_imports(write, tmp_path):
    read = write(
        graded_submission("lovelaceada", Mark(1, 2, 3, MarkStatus.WRONG), platform="canvas")
    )
    maximum, row = read("canvas.csv")
    assert list(row) == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "A lab"]
    assert maximum["Student"].strip() == "Points Possible"
    assert maximum["A lab"] == "3"
    assert (row["Student"], row["ID"], row["A lab"]) == ("lovelaceada", "7", "2")
    assert not (tmp_path / "moodle.csv").exists()


def test_page_and_tables_show_late_and_ungraded_submissions_and_hints(write, tmp_path):
    wrong = Mark(1, 0, 3, MarkStatus.WRONG, "returns `None`", "result-dropped")
    members = [
        graded_submission("Ada", NOT_GRADED),
        graded_submission("Bob", wrong, late=True),
        graded_submission("Cy", wrong),
    ]
    assert [row["late"] for row in write(*members)("totals.csv")] == ["", "late", ""]
    page = page_of(tmp_path, *members)
    assert page.count(">late<") == 1
    assert "1 submission could not be graded" in page
    assert "only these are graded again: Ada." in page
    assert '<td class="number" data-label="Students">2</td>' in page
    assert "returns <code>None</code>" in page
    assert "2 wrong" in page


@pytest.mark.parametrize("isolated", [True, False])
def test_page_warns_if_there_was_no_sandbox(tmp_path, isolated):
    page = page_of(tmp_path, graded_submission("Ada", PASSED, isolated=isolated))
    assert ("ran without a sandbox" in page) is not isolated


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\uff1d1+1"])
def test_no_name_is_a_formula_in_a_spreadsheet(write, name):
    read = write(graded_submission(name, PASSED))
    assert [row["student"] for row in read("totals.csv")] == [f"'{name}"]


def test_names_that_are_not_unicode_get_their_rows_and_feedback(tmp_path, write):
    submission = graded_submission("J\udcf6rg", PASSED)
    submission.page = "page.html"
    (tmp_path / "page.html").write_text("feedback")
    assert [row["student"] for row in write(submission)("totals.csv")] == ["J?rg"]
    assert "J?rg" in page_of(tmp_path, submission)
    with zipfile.ZipFile(gradebook.write_feedback_zip([submission], tmp_path)) as archive:
        assert archive.namelist() == ["J_rg/feedback.html"]


@pytest.mark.parametrize("line", ["Ada,1,nan,", "Ada,one,2,", "Ada;1;2;"])
def test_manual_points_that_are_not_numbers_are_reported_with_their_line(tmp_path, line):
    (tmp_path / gradebook.MANUAL_POINTS_FILE).write_text(
        f"student,exercise,points,comment\n{line}\n"
    )
    with pytest.raises(
        CourseError, match=r"manual.csv, line 2: expected student, exercise, points"
    ):
        gradebook.read_manual_points(tmp_path)


def test_feedback_shows_names_in_backquotes_as_code_and_escapes_the_rest(tmp_path):
    mark = Mark(1, 0, 3, MarkStatus.WRONG, "`f(a|b)` returns <b>x</b> and `*y*")
    page = gradebook.write_feedback(graded_submission("Ada", mark), "A lab", tmp_path)
    row = page.read_text().partition("<td>wrong")[2].partition("</td>")[0]
    assert row == ": <code>f(a|b)</code> returns &lt;b&gt;x&lt;/b&gt; and `*y*"


def test_feedback_of_stored_results_becomes_anonymous_and_named_again(tmp_path):
    graded = graded_submission("Ada", PASSED, platform="moodle")
    for anonymous, name in ((False, "Ada"), (True, "participant-7"), (False, "Ada")):
        page = gradebook.write_feedback(graded, "A lab", tmp_path, anonymous=anonymous)
        assert page.name == f"{name}.html"
        assert ("Ada" in page.read_text()) is not anonymous
        assert {path.stem for path in page.parent.iterdir()} == {name}
        graded.cells = []  # as after loading
