"""Real submissions in real sandboxes: hostile code loses the points of its own exercise only.

Starting a sandbox and torch in it takes seconds, so one submission combines several attacks, and
several tests share one class. `python -m tools.grade_a_class` runs every attack separately.
"""

import copy
import re
import threading
import time
import zipfile
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest

import helpers
from course.course_folder import CourseError
from course.grading import grade as grading
from course.grading.grade import GradingOptions, grade
from course.grading.isolation import bubblewrap
from course.grading.limits import SandboxLimits, StopReason
from course.grading.marking import (
    GradedSubmission,
    Mark,
    MarkStatus,
    grade_submission,
    make_ungraded,
)
from course.grading.remote_worker import Canceled
from course.grading.submissions import Submission
from tools.grade_a_class import LABS, NAME, Member, grade_id
from tools.hostile_answers import HARMLESS, HOSTILE, NEEDS_REVIEW

LAB = LABS / f"{NAME}.ipynb"
LIMITS = SandboxLimits(cell_seconds=4, grace=4, memory_bytes=3 << 29)
needs_bubblewrap = pytest.mark.skipif(bubblewrap() is None, reason="bubblewrap does not work here")
# The attacks of each submission are in different exercises.
COMBINATIONS = (
    (
        "loops forever and catches everything",
        "ends the process",
        "starts many processes",
        "overwrites the checks",
        "prints a forged result",
        "writes forged verdicts into every channel",
    ),
    (
        "deletes its directory and other folders",
        "kills its parent",
        "leaves processes behind",
        "takes all memory",
        "copies other submissions",
        "overwrites files of the package",
    ),
    (
        "replaces the comparison functions",
        "replaces the comparison functions while it is judged",
        "accesses the network",
    ),
    (
        "imitates a tensor under another name",
        "returns an object that unpickles to a command",
        "claims the class of a number",
        "stops its own process",
    ),
    ("leaves code for the next start", "leaves thousands of nested folders"),
)
# Variants of these attacks, and slow attacks, which only `tools.grade_a_class` runs.
# A fork bomb would disturb other tests.
VARIANTS = {
    "a fork bomb",
    "prints forever",
    "writes forever to the file descriptor",
    "ends the process after a delay",
    "raises an error whose text never ends",
    "reads the requests of the judge",
    "returns a list that never ends",
    "returns a tensor of two gigabytes",
}


def make_submission(builder, names):
    """Return a submission with these answers, the exercises that fail, and the expected points."""
    notebook = copy.deepcopy(builder.solution)
    failing = []
    for name in names:
        number, source = HOSTILE[name]
        cell = next(c for c in notebook.cells if grade_id(c) == f"exercise-{number}")
        cell.source = source.replace("{right}", builder.answer(number))
        failing += [] if name in HARMLESS else [number]
    points = builder.full_points_except(*failing)
    return Submission("Eve", "Eve", notebook), failing, points


def empty_checks():
    folder = Path(helpers.__file__).parent / "checks"
    return {file for file in folder.rglob("*.py") if not file.stat().st_size}


def test_every_hostile_answer_is_tested():
    assert {*sum(COMBINATIONS, ()), "waits on input"} == set(HOSTILE) - VARIANTS


@needs_bubblewrap
@pytest.mark.slow
@pytest.mark.parametrize("names", COMBINATIONS, ids=lambda names: names[0])
def test_hostile_answer_costs_only_its_own_exercise(builder, processes_left, names):
    before = empty_checks()
    submission, failing, points = make_submission(builder, names)
    graded = grade_submission(builder.original, submission, LIMITS)
    if NEEDS_REVIEW & set(names):
        passed = {m.exercise for m in graded.marks if m.status is MarkStatus.TO_REVIEW}
        assert passed == set(points) - set(failing), graded.marks
        assert graded.points == 0
    else:
        assert {m.exercise: m.points for m in graded.marks} == points, graded.marks
    assert empty_checks() == before
    assert processes_left() == []


def test_class_has_expected_points_and_reviews(builder, graded_class):
    max_points = sum(builder.max_points.values())
    assert graded_class.result_of("<b>Eve</b>").points == max_points
    assert graded_class.result_of("Ada 3").points == max_points - builder.max_points[3]
    assert graded_class.result_of("Ada 4").points == max_points - builder.max_points[2]
    assert graded_class.result_of("Sur").points == max_points
    assert graded_class.result_of("Frames").points == 0
    assert {m.status for m in graded_class.result_of("Frames").marks} == {MarkStatus.TO_REVIEW}
    assert {m.status for m in graded_class.result_of("Absent").marks} == {MarkStatus.MISSING}


def test_os_exit_is_reported_as_the_end_of_the_process(graded_class):
    stopped = next(m for m in graded_class.result_of("Ada 4").marks if m.exercise == 2)
    assert stopped.message == "its code ended the process with exit status 0"


def test_tables_have_ids_and_totals_and_no_formulas(builder, graded_class):
    rows = graded_class.rows()
    assert len(rows) == 7 * len(builder.max_points)
    assert {row["status"] for row in rows if row["student"] == "'=Bob"} == {"unreadable"}
    totals = {row["student"]: row for row in graded_class.rows("totals.csv")}
    assert (totals["Ada 3"]["id"], totals["Ada 3"]["points"]) == ("3", "12")
    assert totals["Frames"]["points"] == ""
    moodle = {row["Identifier"]: row for row in graded_class.rows("moodle.csv")}
    assert moodle["Participant 4"]["Full name"] == "Ada"
    assert moodle["Participant 4"]["Grade"] == "11"
    assert moodle["Participant 9"]["Grade"] == "0"
    assert "Exercise 2: stopped" in moodle["Participant 4"]["Feedback comments"]


def test_feedback_zip_has_moodles_folder_names(graded_class):
    with zipfile.ZipFile(graded_class.out / "feedback.zip") as archive:
        assert "Ada_3_assignsubmission_file_/feedback.html" in archive.namelist()


def test_class_page_links_to_feedback(builder, graded_class):
    page = (graded_class.out / "index.html").read_text()
    assert "7 submissions" in page
    assert 'href="feedback/Ada%203.html"' in page
    max_points = sum(builder.max_points.values())
    feedback = (graded_class.out / "feedback" / "Ada 3.html").read_text()
    assert f"{max_points - builder.max_points[3]} of {max_points} points" in feedback


class _Text(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.text = ""
        self.feed(page)

    def handle_data(self, data):
        self.text += data


def test_feedback_shows_hints_unchanged(graded_class):
    feedback = (graded_class.out / "feedback" / "Ada 3.html").read_text()
    assert not re.search(r"&amp;#\d+;|&&#", feedback)
    assert "wrong: the answer's cell stops with EOFError" in _Text(feedback).text


def test_feedback_collapses_the_setup_cell(graded_class):
    notebook = nbformat.read(graded_class.out / "feedback" / "Ada 3.ipynb", as_version=4)
    hidden = [
        cell.source.splitlines()[0]
        for cell in notebook.cells
        if cell.metadata.get("jupyter", {}).get("source_hidden")
    ]
    assert len(hidden) == 1
    assert hidden[0].startswith("# @title")


def test_pages_contain_no_student_code_that_a_browser_runs(graded_class):
    pages = [file.read_text() for file in graded_class.out.rglob("*.html")]
    assert len(pages) == 6
    for page in pages:
        assert "<script>steal()" not in page
        assert "<img src=x" not in page
        assert "<b>Eve</b>" not in page


def test_manual_points_are_kept_and_nothing_is_graded_again(graded_class, monkeypatch):
    monkeypatch.setattr(grading, "grade_submission", lambda *a, **k: pytest.fail("graded again"))
    monkeypatch.setattr(grading, "check_machine", lambda *a, **k: pytest.fail("graded again"))
    manual = graded_class.out / "manual.csv"
    before = manual.read_bytes()
    manual.write_text("student,exercise,points,comment\nAda 3,3,1.5,almost\nFrames,6,2,\n")
    try:
        graded = {result.submission.student: result for result in graded_class.grade()}
        mark = graded["Ada 3"].marks[2]
        assert (mark.points, mark.status, mark.message) == (1.5, MarkStatus.MANUAL, "almost")
        assert graded["Frames"].points == 2
        page = (graded_class.out / "feedback" / "Ada 3.html").read_text()
        assert "13.5 of 14 points" in page
        assert "almost" in page
        assert len(graded_class.progress) == 7
    finally:
        manual.write_bytes(before)
        graded_class.grade()


def test_anonymous_feedback_has_no_names(graded_class, monkeypatch):
    graded = graded_class.result_of("Ada 3")
    assert graded.cells == graded.cells[:1]
    page = grading.write_feedback(
        graded, "A lab", graded_class.folder / "anonymous", anonymous=True
    )
    assert page.name == "participant-3.html"
    assert "Ada" not in page.read_text()


def test_feedback_of_stored_results_becomes_anonymous_and_named_again(graded_class, tmp_path):
    named = graded_class.result_of("Ada 3")
    stored = replace(named, cells=[])
    folder = tmp_path / "feedback"
    grading.write_feedback(named, "A lab", tmp_path)
    for anonymous, name in ((True, "participant-3"), (False, "Ada 3")):
        page = grading.write_feedback(stored, "A lab", tmp_path, anonymous=anonymous)
        assert page.name == f"{name}.html"
        assert ("Ada" in page.read_text()) is not anonymous
        assert {path.stem for path in folder.iterdir()} == {name}


@pytest.mark.slow
def test_limits_apply_without_a_sandbox(builder):
    submission = Submission("Ada", "Ada", builder.with_answer(6, "while True: pass"))
    graded = grade_submission(builder.original, submission, LIMITS, isolated=False)
    assert {m.exercise: m.points for m in graded.marks} == builder.full_points_except(6)
    assert not graded.isolated


def test_canceling_does_not_wait_for_sandboxes(builder, processes_left):
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Canceled):
        grade_submission(
            builder.original, Submission("Ada", "Ada", builder.solution), LIMITS, cancel=cancel
        )
    assert processes_left() == []


def test_results_inside_the_submissions_are_refused(builder, tmp_path):
    Member("Ada", builder.solution, {}).write(tmp_path / "in")
    with pytest.raises(CourseError, match="Choose another folder"):
        grade(LAB, tmp_path / "in", tmp_path / "in" / "out")


def test_results_that_cannot_be_written_raise_an_error(builder, tmp_path):
    Member("Ada", b"", {}).write(tmp_path / "in")
    (tmp_path / "out").write_text("a file")
    with pytest.raises(CourseError, match="cannot be written to"):
        grade(LAB, tmp_path / "in", tmp_path / "out" / "deeper")


def test_submission_of_another_lab_is_reported(builder):
    cells = [nbformat.v4.new_code_cell("from helpers.checks import lab_03 as check")]
    other = nbformat.v4.new_notebook(cells=cells)
    graded = grade_submission(builder.original, Submission("a", "a", other), LIMITS)
    assert {(m.status, m.message) for m in graded.marks} == {
        (
            MarkStatus.MISSING,
            "none of this lab's exercises is in the notebook; it is lab 03",
        )
    }


class FakeGrader:
    """Replaces grading: returns the marks that a test sets for each student and attempt."""

    def __init__(self, monkeypatch, builder, tmp_path, results, solution_failures=()):
        self.builder, self.results, self.calls = builder, results, []
        self.solution_failures, self.folder = iter(solution_failures), tmp_path
        for name in results:
            Member(name, builder.solution, {}).write(tmp_path / "in")
        monkeypatch.setattr(grading, "grade_submission", self.judge)
        monkeypatch.setattr(grading, "check_machine", lambda *a, **k: None)
        monkeypatch.setattr(grading, "unexpected_marks", self.unexpected_marks)
        monkeypatch.setattr(grading, "write_feedback", lambda *a, **k: None)

    def judge(self, original, submission, limits, **options):
        name = submission.student
        result = self.results[name][self.calls.count(name)]
        self.calls.append(name)
        if isinstance(result, BaseException):
            raise result
        marks = [Mark(n, of, of, MarkStatus.PASSED) for n, of in self.builder.max_points.items()]
        return GradedSubmission(submission, [result or marks[0], *marks[1:]])

    def unexpected_marks(self, *args, **options):
        failed = next(self.solution_failures, False)
        return [Mark(1, 0, 2, MarkStatus.WRONG)] if failed else [], True

    def grade(self):
        return {
            graded.submission.student: graded
            for graded in grade(
                LAB, self.folder / "in", self.folder / "out", GradingOptions(jobs=1)
            )
        }


SLOW = Mark(1, 0, 2, MarkStatus.STOPPED, "its code took too long", stop=StopReason.TIME)
WRONG = Mark(1, 0, 2, MarkStatus.WRONG, "wrong", "a-hint")


def test_timeout_is_graded_again_before_it_costs_points(builder, tmp_path, monkeypatch):
    grader = FakeGrader(monkeypatch, builder, tmp_path, {"Ada": [SLOW, None], "Bob": [None]})
    graded = grader.grade()
    assert grader.calls == ["Ada", "Bob", "Ada"]
    assert graded["Ada"].points == graded["Ada"].max_points


def test_second_timeout_counts_if_the_solution_passes(builder, tmp_path, monkeypatch):
    grader = FakeGrader(monkeypatch, builder, tmp_path, {"Ada": [SLOW, SLOW]})
    assert grader.grade()["Ada"].marks[0].status is MarkStatus.STOPPED


def test_second_timeout_is_not_graded_if_the_solution_fails_too(builder, tmp_path, monkeypatch):
    grader = FakeGrader(
        monkeypatch, builder, tmp_path, {"Ada": [SLOW, SLOW]}, solution_failures=[True]
    )
    mark = grader.grade()["Ada"].marks[0]
    assert mark.status is MarkStatus.NOT_GRADED
    assert "this machine was too busy" in mark.message


def test_wrong_answers_are_graded_again_if_the_solution_fails(builder, tmp_path, monkeypatch):
    names = {f"s{n:02}": [None] for n in range(10)} | {"s03": [WRONG, None], "s07": [WRONG, WRONG]}
    grader = FakeGrader(
        monkeypatch, builder, tmp_path, dict(sorted(names.items())), solution_failures=[True]
    )
    graded = grader.grade()
    assert grader.calls[10:] == ["s03", "s07"]
    assert graded["s03"].points == graded["s03"].max_points
    assert graded["s07"].marks[0].status is MarkStatus.WRONG


def test_unexpected_error_affects_only_one_submission(builder, tmp_path, monkeypatch):
    error = ValueError("unexpected")
    grader = FakeGrader(monkeypatch, builder, tmp_path, {"Ada": [error, error], "Bob": [None]})
    graded = grader.grade()
    assert {m.status for m in graded["Ada"].marks} == {MarkStatus.NOT_GRADED}
    assert "ValueError: unexpected" in graded["Ada"].marks[0].message
    assert graded["Bob"].points == graded["Bob"].max_points


def test_interrupted_grading_keeps_its_results_and_resumes(builder, tmp_path, monkeypatch):
    stop = KeyboardInterrupt()
    grader = FakeGrader(monkeypatch, builder, tmp_path, {"Ada": [None], "Bob": [stop, None]})
    with pytest.raises(KeyboardInterrupt):
        grader.grade()
    assert "Ada" in (tmp_path / "out" / "gradebook.csv").read_text()
    grader.grade()
    assert grader.calls == ["Ada", "Bob", "Bob"]


def test_tables_of_a_large_class_are_not_written_for_each_student(builder, tmp_path, monkeypatch):
    rows = "".join(f"Student {number}\n" for number in range(300))
    (tmp_path / "list.csv").write_text(f"name\n{rows}")
    (tmp_path / "in" / "ada").mkdir(parents=True)
    (tmp_path / "in" / "ada" / "x.ipynb").write_text("{}")
    written = []

    def write(submissions, *_):
        written.append(len(submissions))
        time.sleep(0.1)
        return []

    monkeypatch.setattr(grading, "write_tables", write)
    monkeypatch.setattr(grading, "write_class_page", lambda *_: None)
    options = GradingOptions(class_list=tmp_path / "list.csv")
    grading.grade(LAB, tmp_path / "in", tmp_path / "out", options)
    assert len(written) < 100
    assert written[-1] == 301


def test_full_disk_raises_an_error(builder, tmp_path, monkeypatch):
    def raise_disk_full(*args):
        raise OSError(28, "No space left on device")

    grader = FakeGrader(monkeypatch, builder, tmp_path, {"Ada": [None]})
    monkeypatch.setattr(grading, "write_tables", raise_disk_full)
    with pytest.raises(CourseError, match="No space left on device"):
        grader.grade()


def test_failing_feedback_page_does_not_change_marks(builder, tmp_path, monkeypatch):
    def fail(*args, **options):
        raise ValueError("cannot be shown")

    grader = FakeGrader(monkeypatch, builder, tmp_path, {"Ada": [None]})
    monkeypatch.setattr(grading, "write_feedback", fail)
    graded = grader.grade()["Ada"]
    assert graded.points == graded.max_points
    assert any("the feedback page could not be written" in note for note in graded.notes)


def test_ungraded_submissions_have_no_points(builder):
    graded = make_ungraded(builder.original, Submission("a", "a"), MarkStatus.NOT_GRADED, "why")
    assert not graded.is_graded
