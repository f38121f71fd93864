"""A machine that cannot judge grades nobody, and says why."""

import pytest

from course.course_folder import CourseError
from course.grading import box
from course.grading.box import Limits
from course.grading.grade import grade
from course.grading.marking import NOT_JUDGED, mark
from course.grading.rehearsal import rehearse
from course.grading.submissions import Submission
from tools.grade_a_class import LABS, NAME, Desk, Member

# For a machine that is busy with other tests.
PATIENT = Limits(cell_seconds=120, seconds=900)
FORBIDDEN = "bwrap: No permissions to create new namespace"


@pytest.fixture(scope="module")
def desk():
    return Desk()


@pytest.fixture
def broken_box(monkeypatch, tmp_path):
    """bubblewrap as it fails where the system forbids what it does."""
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\necho '{FORBIDDEN}' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(box, "bubblewrap", lambda: str(program))


@pytest.fixture
def lab(desk, tmp_path):
    """The lab alone in a folder, without its solution."""
    file = tmp_path / f"{NAME}.ipynb"
    file.write_bytes((LABS / file.name).read_bytes())
    return file


def test_a_box_that_does_not_start_is_no_fault_of_the_students(desk, broken_box):
    marked = mark(desk.original, Submission("Ada", "Ada", desk.solution), Limits())
    assert {one.status for one in marked.marks} == {NOT_JUDGED}
    assert not marked.judged
    assert {one.message for one in marked.marks} == {
        f"its process ended before any of the student's code could run: {FORBIDDEN}"
    }


@pytest.mark.slow
def test_where_the_box_does_not_start_nothing_is_graded(desk, broken_box, tmp_path):
    Member("Ada", desk.solution, {}).write(tmp_path / "in")
    with pytest.raises(CourseError) as caught:
        grade(LABS / f"{NAME}.ipynb", tmp_path / "in", tmp_path / "out", limits=PATIENT)
    said = str(caught.value)
    assert "nothing was graded" in said
    assert "exercises 1, 2, 3, 4, 5, 6: not judged: its process ended before" in said
    assert FORBIDDEN in said
    # The solution passes without the walls, so they are to blame.
    assert "add --no-walls" in said
    assert not (tmp_path / "out").exists()


def test_a_limit_too_low_for_python_is_named(lab):
    with pytest.raises(
        CourseError, match=r"took more than 0\.0 GiB(.|\n)*A higher limit may help \(--memory"
    ):
        rehearse(lab, Limits(memory=1 << 20), shut=False)


def test_a_lab_without_a_solution_is_tried_as_it_is(lab):
    rehearse(lab, Limits(), shut=False)
