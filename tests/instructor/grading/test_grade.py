"""Real submissions in real boxes: what is hostile costs its own exercise and nobody else's."""

import copy
import csv
from pathlib import Path

import nbformat
import psutil
import pytest

from helpers.instructor.course_folder import CourseError
from helpers.instructor.grading import box
from helpers.instructor.grading.box import Limits, bubblewrap
from helpers.instructor.grading.grade import grade
from helpers.instructor.grading.marking import mark
from helpers.instructor.grading.submissions import Submission
from tests.instructor.grading.a_class import HARMLESS, HOSTILE, LABS, NAME, Desk, Member, grade_id

LIMITS = Limits(cell_seconds=3, memory=3 << 29)
walls = pytest.mark.skipif(bubblewrap() is None, reason="bubblewrap does not work here")
# Each exercise of these three tries another thing.
PARTIES = (
    (
        "loops for ever and catches everything",
        "ends the process",
        "a fork bomb",
        "takes all memory",
        "prints for ever",
        "writes for ever past Python",
    ),
    (
        "deletes its directory and what else it can",
        "ends the process a moment later",
        "leaves processes behind",
        "overwrites the checks",
        "prints a forged result",
        "leaves its files in the package",
    ),
    (
        "replaces what compares",
        "kills its parent",
        "replaces what compares while it is judged",
        "asks the network",
        "copies what others hand in",
        "writes forged verdicts into every channel",
    ),
)


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


def words(process):
    return process.info["cmdline"] or ()


def test_each_thing_that_can_be_tried_is_in_a_party():
    assert {*sum(PARTIES, ()), "waits on input"} == set(HOSTILE)


@walls
@pytest.mark.parametrize("names", PARTIES, ids=lambda names: names[0])
def test_what_is_hostile_costs_its_own_exercise_only(desk, names):
    package = Path(box.__file__).parents[2] / "checks" / "lab_01.py"
    before = package.read_bytes(), {p.pid for p in psutil.process_iter()}
    submission, points = party(desk, names)
    marked = mark(desk.original, submission, LIMITS)
    assert {m.exercise: m.points for m in marked.marks} == points, marked.marks
    assert package.read_bytes() == before[0]
    new = (p for p in psutil.process_iter(["cmdline"]) if p.pid not in before[1])
    mine = [p.info for p in new if {"1000", "helpers.instructor.grading.worker"} & {*words(p)}]
    assert mine == []


def test_a_class_gets_its_gradebook_feedback_and_page(desk, tmp_path):
    desk.hostile("waits on input").write(tmp_path / "in")
    Member("Ada", desk.solution, {}).write(tmp_path / "in")
    Member("=Bob", b"", {}).write(tmp_path / "in")
    seen = []
    grade(
        LABS / f"{NAME}.ipynb",
        tmp_path / "in",
        tmp_path / "out",
        limits=LIMITS,
        jobs=1,
        report=lambda one, done, count: seen.append((one.submission.student, done, count)),
    )
    assert [(done, count) for _, done, count in seen] == [(1, 3), (2, 3), (3, 3)]
    with (tmp_path / "out" / "gradebook.csv").open(encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    points = {}
    for row in rows:
        points[row["student"]] = points.get(row["student"], 0) + int(row["points"])
    whole = sum(desk.of.values())
    assert points == {"Ada": whole, "'=Bob": 0, "waits on input": whole - desk.of[3]}
    assert {row["status"] for row in rows if row["student"] == "'=Bob"} == {"unreadable"}
    page = (tmp_path / "out" / "index.html").read_text()
    assert "3 submissions" in page
    assert 'href="feedback/Ada.html"' in page
    feedback = (tmp_path / "out" / "feedback" / "Ada.html").read_text()
    assert f"{whole} of {whole} points" in feedback


def test_feedback_shows_nothing_of_a_students_that_a_browser_runs(desk, tmp_path):
    answer = "from IPython.display import HTML, display\ndisplay(HTML('<script>steal()</script>'))"
    source = f"{answer}\nprint('<img src=x onerror=steal()>')\n{desk.answer(1)}"
    Member("<b>Eve</b>", desk.with_answer(1, source), {}).write(tmp_path / "in")
    grade(LABS / f"{NAME}.ipynb", tmp_path / "in", tmp_path / "out", limits=LIMITS)
    pages = [file.read_text() for file in (tmp_path / "out").rglob("*.html")]
    assert len(pages) == 2
    for page in pages:
        assert "<script>steal()" not in page
        assert "<img src=x" not in page
        assert "<b>Eve</b>" not in page


def test_without_walls_the_limits_hold_and_the_page_says_so(desk, tmp_path):
    Member("Ada", desk.with_answer(6, "while True: pass"), {}).write(tmp_path / "in")
    (one,) = grade(
        LABS / f"{NAME}.ipynb", tmp_path / "in", tmp_path / "out", limits=LIMITS, shut=False
    )
    assert {m.exercise: m.points for m in one.marks} == desk.all_but(6)
    assert "ran without walls" in (tmp_path / "out" / "index.html").read_text()


def test_results_inside_the_submissions_are_refused(desk, tmp_path):
    Member("Ada", desk.solution, {}).write(tmp_path / "in")
    with pytest.raises(CourseError, match="Name another folder"):
        grade(LABS / f"{NAME}.ipynb", tmp_path / "in", tmp_path / "in" / "out")


def test_a_lab_with_none_of_the_exercises_is_no_submission(desk):
    other = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 1")])
    marked = mark(desk.original, Submission("a", "a", other), LIMITS)
    assert {m.status for m in marked.marks} == {"missing"}
