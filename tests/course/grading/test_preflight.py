"""A machine that cannot grade the solution grades no submission and reports the reason."""

import pytest

from course.course_folder import CourseError
from course.grading import sandbox
from course.grading.grade import GradingOptions, grade
from course.grading.limits import SandboxLimits
from course.grading.results import MarkStatus, grade_submission
from course.grading.preflight import check_machine
from course.grading.students import Submission
from tools.grade_a_class import LABS, NAME, Member

FORBIDDEN = "bwrap: No permissions to create new namespace"


@pytest.fixture
def broken_bubblewrap(monkeypatch, tmp_path):
    """A bubblewrap that fails as it does where the system forbids namespaces."""
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\necho '{FORBIDDEN}' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(sandbox, "bubblewrap", lambda: str(program))


@pytest.fixture
def lab(builder, tmp_path):
    """The lab alone in a folder, without its solution."""
    file = tmp_path / f"{NAME}.ipynb"
    file.write_bytes((LABS / file.name).read_bytes())
    return file


def test_submission_is_not_graded_if_the_sandbox_does_not_start(builder, broken_bubblewrap):
    graded = grade_submission(
        builder.original, Submission("Ada", "Ada", builder.solution), SandboxLimits()
    )
    assert {mark.status for mark in graded.marks} == {MarkStatus.NOT_GRADED}
    assert not graded.is_graded
    for mark in graded.marks:
        assert mark.message.startswith("its setup ended the process with exit status 1")
        assert mark.message.endswith(f"before any student code could run: {FORBIDDEN}")


@pytest.mark.slow
def test_class_is_not_graded_if_the_sandbox_does_not_start(builder, broken_bubblewrap, tmp_path):
    Member("Ada", builder.solution, {}).write(tmp_path / "in")
    with pytest.raises(CourseError) as caught:
        grade(LABS / f"{NAME}.ipynb", tmp_path / "in", tmp_path / "out", GradingOptions())
    message = str(caught.value)
    assert "no submission was graded" in message
    assert "exercises 1, 2, 3, 4, 5, 6: not graded: its setup ended" in message
    assert FORBIDDEN in message
    # The solution passes without bubblewrap, so bubblewrap is the cause.
    assert "add --no-sandbox" in message
    assert not (tmp_path / "out" / "gradebook.csv").exists()


def test_a_memory_limit_too_low_for_python_is_reported(lab):
    expected = r"used more than 0\.0 GiB(.|\n)*Raise the limits \(--memory"
    with pytest.raises(CourseError, match=expected):
        check_machine(lab, SandboxLimits(memory_bytes=1 << 20), isolated=False)


@pytest.mark.slow
def test_a_lab_without_a_solution_passes_the_preflight(lab):
    check_machine(lab, SandboxLimits(), isolated=False)
