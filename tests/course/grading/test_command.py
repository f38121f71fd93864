"""`course grade` explains missing isolation, invalid options and an unsuitable machine."""

import pytest

from course.cli import main
from course.course_folder import CourseError
from course.grading import sandbox
from course.grading.grade import check_machine
from course.grading.limits import SandboxLimits
from tools.grade_a_class import LABS, NAME, ClassBuilder, Member

FORBIDDEN = "bwrap: No permissions to create new namespace"


def test_grading_without_a_sandbox_is_refused_unless_requested(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sandbox, "bubblewrap", lambda: None)
    (tmp_path / "in").mkdir()
    assert main(["grade", "01", str(tmp_path / "in"), "--out", str(tmp_path / "out")]) != 0
    message = capsys.readouterr().err
    for text in ("apt-get install bubblewrap", "read and change every file", "--no-sandbox"):
        assert text in message
    assert not (tmp_path / "out").exists()
    with pytest.raises(CourseError, match="--no-sandbox"):
        sandbox.Sandbox("helpers", SandboxLimits(), isolated=True)


def test_an_invalid_due_date_is_rejected_with_an_example(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["grade", "01", str(tmp_path), "--due", "tomorrow"])
    assert "'tomorrow' is not a date and time such as 2026-11-20 23:59" in capsys.readouterr().err


def test_manual_points_that_match_no_exercise_are_reported(tmp_path, capsys):
    Member("Ada", b"", {}).write(tmp_path / "in")
    (tmp_path / "out").mkdir()
    rows = "student,exercise,points,comment\nAda,1,2,\nAdda,1,2,\nAda,9,1,\n"
    (tmp_path / "out" / "manual.csv").write_text(rows)
    folders = [str(tmp_path / "in"), "--out", str(tmp_path / "out")]
    assert main(["grade", "01", *folders, "--no-sandbox"]) == 0
    assert "any student: Ada, exercise 9; Adda, exercise 1." in capsys.readouterr().err


@pytest.mark.slow
def test_class_is_not_graded_if_the_sandbox_does_not_start(monkeypatch, tmp_path, capsys):
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\necho '{FORBIDDEN}' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(sandbox, "bubblewrap", lambda: str(program))
    Member("Ada", ClassBuilder().solution, {}).write(tmp_path / "in")
    assert main(["grade", "01", str(tmp_path / "in"), "--out", str(tmp_path / "out")]) == 1
    message = capsys.readouterr().err
    assert "no submission was graded" in message
    assert "exercise 1, 2, 3, 4, 5, 6: not graded: its setup ended the process" in message
    assert f"before any student code could run: {FORBIDDEN}" in message
    # The solution passes without bubblewrap, so bubblewrap is the cause.
    assert "add --no-sandbox" in message
    assert not (tmp_path / "out" / "gradebook.csv").exists()


def test_a_memory_limit_too_low_for_python_is_reported():
    expected = r"used more than 0\.0 GiB(.|\n)*Raise the limits \(--memory"
    with pytest.raises(CourseError, match=expected):
        check_machine(LABS / f"{NAME}.ipynb", SandboxLimits(memory_bytes=1 << 20), isolated=False)


@pytest.mark.slow
def test_a_lab_without_a_solution_passes_the_preflight(tmp_path):
    lab = tmp_path / f"{NAME}.ipynb"
    lab.write_bytes((LABS / lab.name).read_bytes())
    check_machine(lab, SandboxLimits(), isolated=False)
