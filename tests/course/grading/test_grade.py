"""Real submissions in real boxes: what is hostile costs its own exercise and nobody else's.

Starting a box and torch in it takes seconds, so one submission tries several things, and one class
serves several tests. `python -m tools.grade_a_class` tries everything, one at a time.
"""

import copy
import csv
import ctypes
import threading
import time
from pathlib import Path

import nbformat
import psutil
import pytest

import helpers
from course.course_folder import CourseError
from course.grading.box import Limits, bubblewrap
from course.grading.grade import grade
from course.grading.marking import mark
from course.grading.sitting import Broken
from course.grading.submissions import Submission
from tools.grade_a_class import HARMLESS, HOSTILE, LABS, NAME, Desk, Member, grade_id

LIMITS = Limits(cell_seconds=2, grace=2, memory=3 << 29)
walls = pytest.mark.skipif(bubblewrap() is None, reason="bubblewrap does not work here")
PR_SET_CHILD_SUBREAPER = 36
# Each exercise of these tries another thing.
PARTIES = (
    (
        "loops for ever and catches everything",
        "ends the process",
        "starts a crowd of processes",
        "overwrites the checks",
        "prints a forged result",
        "writes forged verdicts into every channel",
    ),
    (
        "deletes its directory and what else it can",
        "kills its parent",
        "leaves processes behind",
        "takes all memory",
        "copies what others hand in",
        "leaves its files in the package",
    ),
    (
        "replaces what compares",
        "replaces what compares while it is judged",
        "asks the network",
    ),
)
# Further ways to do what one of these does; they are left to the whole class.
# The bomb disturbs what else is being tested.
ALIKE = {
    "a fork bomb",
    "prints for ever",
    "writes for ever past Python",
    "ends the process a moment later",
}


@pytest.fixture(scope="module")
def desk():
    return Desk()


def party(desk, names):
    """One submission with the answers of several, and the points it is to get."""
    notebook = copy.deepcopy(desk.solution)
    bad = []
    for name in names:
        number, source = HOSTILE[name]
        cell = next(c for c in notebook.cells if grade_id(c) == f"exercise-{number}")
        cell.source = source.replace("{right}", desk.answer(number))
        bad += [] if name in HARMLESS else [number]
    return Submission("party", "party", notebook), desk.all_but(*bad)


def emptied_checks():
    folder = Path(helpers.__file__).parent / "checks"
    return {file for file in folder.rglob("*.py") if not file.stat().st_size}


@pytest.fixture
def left_behind():
    """Tells which processes are there that were not before, orphans among them."""
    set_subreaper = ctypes.CDLL(None).prctl if psutil.LINUX else lambda *_: None
    set_subreaper(PR_SET_CHILD_SUBREAPER, 1)
    before = set(psutil.Process().children(recursive=True))

    def tell():
        new = set(psutil.Process().children(recursive=True)) - before
        return [process for process in new if process.status() != psutil.STATUS_ZOMBIE]

    yield tell
    set_subreaper(PR_SET_CHILD_SUBREAPER, 0)


def test_each_thing_that_can_be_tried_is_tried():
    assert {*sum(PARTIES, ()), "waits on input"} == set(HOSTILE) - ALIKE


@walls
@pytest.mark.slow
@pytest.mark.parametrize("names", PARTIES, ids=lambda names: names[0])
def test_what_is_hostile_costs_its_own_exercise_only(desk, left_behind, names):
    before = emptied_checks()
    submission, points = party(desk, names)
    marked = mark(desk.original, submission, LIMITS)
    assert {m.exercise: m.points for m in marked.marks} == points, marked.marks
    assert emptied_checks() == before
    assert left_behind() == []


class Graded:
    """A class of three, and what its grading left."""

    def __init__(self, desk, folder):
        self.out = folder / "out"
        self.seen = []
        shown = (
            "from IPython.display import HTML, display\ndisplay(HTML('<script>steal()</script>'))"
        )
        source = f"{shown}\nprint('<img src=x onerror=steal()>')\n{desk.answer(1)}"
        Member("<b>Eve</b>", desk.with_answer(1, source), {}).write(folder / "in")
        Member("=Bob", b"", {}).write(folder / "in")
        desk.hostile("waits on input").write(folder / "in")
        grade(
            LABS / f"{NAME}.ipynb",
            folder / "in",
            self.out,
            limits=LIMITS,
            jobs=1,
            report=lambda one, done, count: self.seen.append((one.submission.student, done, count)),
        )
        with (self.out / "gradebook.csv").open(encoding="utf-8-sig") as file:
            self.rows = list(csv.DictReader(file))

    def points(self, student):
        return sum(int(row["points"]) for row in self.rows if row["student"] == student)


@pytest.fixture(scope="module")
def graded(desk, tmp_path_factory):
    return Graded(desk, tmp_path_factory.mktemp("class"))


def test_a_class_gets_its_gradebook(desk, graded):
    whole = sum(desk.of.values())
    assert graded.points("<b>Eve</b>") == whole
    assert graded.points("waits on input") == whole - desk.of[3]
    # A spreadsheet takes no name for a formula.
    assert {row["status"] for row in graded.rows if row["student"] == "'=Bob"} == {"unreadable"}
    assert len(graded.rows) == 3 * len(desk.of)


def test_grading_says_how_far_it_is(graded):
    assert [(done, count) for _, done, count in graded.seen] == [(1, 3), (2, 3), (3, 3)]


def test_the_page_of_a_class_leads_to_everybodys_feedback(desk, graded):
    page = (graded.out / "index.html").read_text()
    assert "3 submissions" in page
    assert 'href="feedback/waits%20on%20input.html"' in page
    feedback = (graded.out / "feedback" / "waits on input.html").read_text()
    whole = sum(desk.of.values())
    assert f"{whole - desk.of[3]} of {whole} points" in feedback


def test_pages_show_nothing_of_a_students_that_a_browser_runs(graded):
    pages = [file.read_text() for file in graded.out.rglob("*.html")]
    assert len(pages) == 3
    for page in pages:
        assert "<script>steal()" not in page
        assert "<img src=x" not in page
        assert "<b>Eve</b>" not in page


@pytest.mark.slow
def test_without_walls_the_limits_hold(desk):
    submission = Submission("Ada", "Ada", desk.with_answer(6, "while True: pass"))
    marked = mark(desk.original, submission, LIMITS, shut=False)
    assert {m.exercise: m.points for m in marked.marks} == desk.all_but(6)
    assert not marked.shut


def test_who_stops_the_grading_waits_for_no_box(desk, left_behind):
    stop = threading.Event()
    stop.set()
    begun = time.monotonic()
    with pytest.raises(Broken):
        mark(desk.original, Submission("Ada", "Ada", desk.solution), LIMITS, stop=stop)
    assert time.monotonic() - begun < 2
    assert left_behind() == []


def test_results_inside_the_submissions_are_refused(desk, tmp_path):
    Member("Ada", desk.solution, {}).write(tmp_path / "in")
    with pytest.raises(CourseError, match="Name another folder"):
        grade(LABS / f"{NAME}.ipynb", tmp_path / "in", tmp_path / "in" / "out")


def test_a_lab_with_none_of_the_exercises_is_no_submission(desk):
    other = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 1")])
    marked = mark(desk.original, Submission("a", "a", other), LIMITS)
    assert {m.status for m in marked.marks} == {"missing"}
