"""Real submissions in real sandboxes: hostile code loses the points of its own exercise only.

Starting a sandbox and torch in it takes seconds, so one submission combines several attacks, and
several tests share one class. `python -m tools.grade_a_class` runs every attack separately.
"""

import copy
import re
import textwrap
import threading
import zipfile
from html import unescape
from pathlib import Path
from unittest.mock import Mock

import nbformat
import pytest

from course.course_folder import CourseError
from course.grading import grade as grading
from course.grading.grade import GradingOptions, grade, grade_submission
from course.grading.gradebook import GradedSubmission, Mark, MarkStatus
from course.grading.limits import SandboxLimits, StopReason
from course.grading.sandbox import bubblewrap
from course.grading.session import Canceled
from course.grading.submissions import Submission
from tests.course.grading.conftest import LAB
from tools.grade_a_class import ATTACKS, HOSTILE, LABS, Member, attack_lab, grade_id

LIMITS = SandboxLimits(cell_seconds=4, grace=4, memory_bytes=3 << 29)
needs_bubblewrap = pytest.mark.skipif(bubblewrap() is None, reason="bubblewrap does not work here")
# The attacks of each submission are in different exercises. Only `tools.grade_a_class` runs slow
# attacks, variants of these, and a fork bomb, which would disturb other tests.
COMBINATIONS = (
    "loops forever and catches everything; ends the process; starts many processes; "
    "overwrites the checks; prints a forged result; writes forged verdicts into every channel",
    "deletes its directory and other folders; kills its parent; leaves processes behind; "
    "takes all memory; copies other submissions; overwrites files of the package",
    "replaces the comparison functions; replaces the comparison functions while it is judged; "
    "accesses the network",
    "imitates a tensor under another name; returns an object that unpickles to a command; "
    "claims the class of a number; stops its own process",
    "leaves code for the next start; leaves thousands of nested folders",
)


@needs_bubblewrap
@pytest.mark.slow
@pytest.mark.parametrize("names", COMBINATIONS, ids=lambda names: names.partition(";")[0])
def test_hostile_answer_costs_only_its_own_exercise(builder, processes_left, names):
    notebook, failing = copy.deepcopy(builder.solution), []
    for name in names.split("; "):
        attack, number = HOSTILE[name], HOSTILE[name]["exercise"]
        cell = next(c for c in notebook.cells if grade_id(c) == f"exercise-{number}")
        cell.source = attack["answer"].replace("{right}", builder.answer(number))
        failing += [] if attack.get("harmless") else [number]
    graded = grade_submission(builder.original, Submission("Eve", "Eve", notebook), LIMITS)
    points = {mark.exercise: mark.points for mark in graded.marks}
    assert points == builder.full_points_except(*failing), graded.marks
    assert processes_left() == []


def combined_attacks():
    """Return one source with every attack; `answer` tries them one after the other."""
    parts = ["answers = []"]
    for source in ATTACKS.values():
        code = textwrap.indent(source, "    ")
        parts.append(f"try:\n{code}\n    answers.append(answer)\nexcept Exception:\n    pass")
    parts.append(
        "def answer(*args, attacks=tuple(answers), **kwargs):\n"
        "    result = None\n"
        "    for attack in attacks:\n"
        "        try:\n            result = attack(*args, **kwargs)\n"
        "        except Exception:\n            pass\n"
        "    return result"
    )
    return "\n".join(parts)


@needs_bubblewrap
@pytest.mark.slow
@pytest.mark.parametrize("file", sorted(LABS.glob("[0-9]*.ipynb")), ids=lambda file: file.stem)
def test_all_attacks_together_get_no_points_on_any_lab(file):
    lab = nbformat.read(file, as_version=4)
    submission = Submission("a", "a", attack_lab(lab, combined_attacks()))
    graded = grade_submission(lab, submission, SandboxLimits(cell_seconds=10))
    assert graded.points == 0, graded.marks
    assert len(graded.marks) >= 3
    assert not Path("/tmp/the-judge-unpickled-this").exists()


def test_class_has_the_expected_points(builder, graded_class):
    lost = {"<b>Eve</b>": [], "Ada 3": [3], "Ada 4": [2], "Sur": [], "Gc": []}
    for student, numbers in lost.items():
        expected = sum(builder.full_points_except(*numbers).values())
        assert graded_class.graded[student].points == expected, graded_class.graded[student].marks
    assert {m.status for m in graded_class.graded["=Bob"].marks} == {MarkStatus.UNREADABLE}
    assert {m.status for m in graded_class.graded["Absent"].marks} == {MarkStatus.MISSING}
    ended = graded_class.graded["Ada 4"].marks[1]
    assert ended.message == "its code ended the process with exit status 0"


def test_tables_and_zip_have_the_ids_and_names_of_moodle(graded_class):
    totals = {row["student"]: row for row in graded_class.rows("totals.csv")}
    assert (totals["Ada 3"]["id"], totals["Ada 3"]["points"]) == ("3", "13")
    moodle = {row["Identifier"]: row for row in graded_class.rows("moodle.csv")}
    ada = moodle["Participant 4"]
    assert (ada["Full name"], ada["Grade"]) == ("Ada", "13")
    assert "Exercise 2: stopped" in ada["Feedback comments"]
    assert moodle["Participant 9"]["Grade"] == "0"
    with zipfile.ZipFile(graded_class.out / "feedback.zip") as archive:
        assert "Ada_3_assignsubmission_file_/feedback.html" in archive.namelist()


def test_pages_show_points_and_hints_and_collapse_the_setup_cell(graded_class):
    page = (graded_class.out / "index.html").read_text()
    assert "7 submissions" in page
    assert 'href="feedback/Ada%203.html"' in page
    feedback = (graded_class.out / "feedback" / "Ada 3.html").read_text()
    assert "13 of 16 points" in feedback
    assert not re.search(r"&amp;#\d+;|&&#", feedback)
    assert "wrong: the answer's cell stops with EOFError" in unescape(feedback)
    notebook = nbformat.read(graded_class.out / "feedback" / "Ada 3.ipynb", as_version=4)
    (hidden,) = [c for c in notebook.cells if c.metadata.get("jupyter", {}).get("source_hidden")]
    assert hidden.source.startswith("# @title")


def test_pages_contain_no_student_code_that_a_browser_runs(graded_class):
    pages = [file.read_text() for file in graded_class.out.rglob("*.html")]
    assert len(pages) == 6
    for page in pages:
        assert not re.search("<script>steal|<img src=x|<b>Eve</b>", page)


def test_manual_points_are_kept_and_nothing_is_graded_again(graded_class, monkeypatch):
    monkeypatch.setattr(grading, "grade_submission", lambda *a, **k: pytest.fail("graded again"))
    manual = graded_class.out / "manual.csv"
    before = manual.read_bytes()
    manual.write_text("student,exercise,points,comment\nAda 3,3,1.5,almost\n")
    try:
        graded = {result.submission.student: result for result in graded_class.grade()}
        mark = graded["Ada 3"].marks[2]
        assert (mark.points, mark.status, mark.message) == (1.5, MarkStatus.MANUAL, "almost")
        page = (graded_class.out / "feedback" / "Ada 3.html").read_text()
        assert "14.5 of 16 points" in page
        assert "almost" in page
        assert len(graded_class.progress) == 7
    finally:
        manual.write_bytes(before)
        graded_class.grade()


def test_canceling_does_not_wait_for_sandboxes(builder, processes_left):
    cancel = threading.Event()
    cancel.set()
    submission = Submission("Ada", "Ada", builder.solution)
    with pytest.raises(Canceled):
        grade_submission(builder.original, submission, LIMITS, isolated=False, cancel=cancel)
    assert processes_left() == []


@pytest.mark.parametrize(
    ("out", "message"),
    [("in/out", "Choose another folder"), ("in/x/lab.ipynb/deeper", "cannot be written to|Choose")],
)
def test_results_that_cannot_be_written_raise_an_error(tmp_path, out, message):
    (tmp_path / "in" / "x").mkdir(parents=True)
    (tmp_path / "in" / "x" / "lab.ipynb").write_text("")
    with pytest.raises(CourseError, match=message):
        grade(LAB, tmp_path / "in", tmp_path / out, GradingOptions(isolated=False))


class FakeGrader:
    """Replaces grading: returns the marks that a test sets for each student and attempt."""

    def __init__(self, monkeypatch, builder, tmp_path):
        self.builder, self.folder, self.calls = builder, tmp_path, []
        for name, function in {
            "grade_submission": self.grade_submission,
            "check_machine": lambda *a: None,
            "unexpected_marks": lambda *a: next(self.solution_failures, False),
            "write_feedback": lambda *a, **k: None,
        }.items():
            monkeypatch.setattr(grading, name, function)

    def grade_submission(self, original, submission, *settings):
        name = submission.student
        result = self.results[name][self.calls.count(name)]
        self.calls.append(name)
        if isinstance(result, BaseException):
            raise result
        marks = [Mark(n, of, of, MarkStatus.PASSED) for n, of in self.builder.max_points.items()]
        return GradedSubmission(submission, [result or marks[0], *marks[1:]])

    def grade(self, results, solution_failures=()):
        self.results, self.solution_failures = results, iter(solution_failures)
        for name in results:
            if not list(self.folder.glob(f"in/{name}_*")):
                Member(name, self.builder.solution, {}).write(self.folder / "in")
        folders = self.folder / "in", self.folder / "out"
        results = grade(LAB, *folders, GradingOptions(jobs=1, isolated=False))
        return {graded.submission.student: graded for graded in results}


@pytest.fixture
def grader(monkeypatch, builder, tmp_path):
    return FakeGrader(monkeypatch, builder, tmp_path)


SLOW = Mark(1, 0, 2, MarkStatus.STOPPED, "its code took too long", stop=StopReason.TIME)
WRONG = Mark(1, 0, 2, MarkStatus.WRONG, "wrong", "a-hint")


@pytest.mark.parametrize(
    ("second", "solution_fails", "status"),
    [
        (None, False, MarkStatus.PASSED),
        (SLOW, False, MarkStatus.STOPPED),
        (SLOW, True, MarkStatus.NOT_GRADED),
    ],
)
def test_timeout_is_graded_again_before_it_costs_points(grader, second, solution_fails, status):
    graded = grader.grade({"Ada": [SLOW, second], "Bob": [None]}, [solution_fails])
    assert grader.calls == ["Ada", "Bob", "Ada"]
    mark = graded["Ada"].marks[0]
    assert mark.status is status
    assert ("this machine was too busy" in mark.message) is solution_fails


def test_wrong_answers_are_graded_again_if_the_solution_fails(grader):
    names = {f"s{n:02}": [None] for n in range(10)} | {"s03": [WRONG, None], "s07": [WRONG, WRONG]}
    graded = grader.grade(names, [True])
    assert grader.calls[10:] == ["s03", "s07"]
    assert graded["s03"].points == graded["s03"].max_points
    assert graded["s07"].marks[0].status is MarkStatus.WRONG


def test_unexpected_error_affects_only_one_submission(grader):
    error = ValueError("unexpected")
    graded = grader.grade({"Ada": [error, error], "Bob": [None]})
    assert {m.status for m in graded["Ada"].marks} == {MarkStatus.NOT_GRADED}
    assert "ValueError: unexpected" in graded["Ada"].marks[0].message
    assert graded["Bob"].points == graded["Bob"].max_points


def test_interrupted_grading_keeps_its_results_and_resumes(grader, tmp_path):
    results = {"Ada": [None], "Bob": [KeyboardInterrupt(), None]}
    with pytest.raises(KeyboardInterrupt):
        grader.grade(results)
    assert "Ada" in (tmp_path / "out" / "gradebook.csv").read_text()
    grader.grade(results)
    assert grader.calls == ["Ada", "Bob", "Bob"]


def test_a_broken_pipe_is_not_reported_as_a_full_disk(grader, monkeypatch):
    monkeypatch.setattr(grading, "write_tables", Mock(side_effect=BrokenPipeError))
    with pytest.raises(BrokenPipeError):
        grader.grade({"Ada": [None]})


@pytest.mark.slow
def test_class_is_graded_on_a_dask_cluster(builder, tmp_path):
    from distributed import LocalCluster

    members = {"Ada": builder.solution, "Bob": builder.with_answer(1, "move_all = print")}
    for name, notebook in members.items():
        Member(name, notebook, {}).write(tmp_path / "in")
    with LocalCluster(
        n_workers=1, threads_per_worker=2, protocol="tcp", dashboard_address=None
    ) as cluster:
        options = GradingOptions(isolated=bool(bubblewrap()), cluster=cluster.scheduler_address)
        ada, bob = grade(LAB, tmp_path / "in", tmp_path / "out", options)
    assert (ada.points, bob.points) == (16, 13)
    assert "Ada" in (tmp_path / "out" / "totals.csv").read_text()


def test_full_disk_raises_an_error(grader, monkeypatch):
    monkeypatch.setattr(grading, "write_tables", Mock(side_effect=OSError(28, "No space left")))
    with pytest.raises(CourseError, match="No space left"):
        grader.grade({"Ada": [None]})


def test_failing_feedback_page_does_not_change_marks(grader, monkeypatch):
    monkeypatch.setattr(grading, "write_feedback", Mock(side_effect=ValueError("not shown")))
    graded = grader.grade({"Ada": [None]})["Ada"]
    assert graded.points == graded.max_points
    assert any("the feedback page could not be written" in note for note in graded.notes)
