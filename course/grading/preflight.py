"""Checks that this machine can grade a lab, before and between submissions.

If the sandbox fails to start or a limit is too low, every student gets 0 points. To detect
this, the lab's own solution is graded like a submission and must get full points.
"""

from __future__ import annotations

from pathlib import Path

import nbformat

from course.course_folder import CourseError
from course.grading.limits import SandboxLimits
from course.grading.marking import Mark, MarkStatus, grade_submission
from course.grading.submissions import Submission


def check_machine(original: Path, limits: SandboxLimits, *, isolated: bool = True) -> None:
    """Grade the solution of the lab `original`, or the lab itself if it has no solution.

    Raises:
        CourseError: it did not get full points. The message includes the results and a fix.
    """
    notebook_file, expected = _reference(original)
    failed, isolated = unexpected_marks(original, limits, isolated=isolated)
    if not failed:
        return
    setting = "in bubblewrap's sandbox" if isolated else "without a sandbox"
    lines = [
        f"This machine cannot grade {original.stem} now, so no submission was graded. "
        f"{notebook_file} was graded first, {setting} with {limits.memory_bytes / 2**30:.1f} GiB, "
        f"{limits.cell_seconds:g} s per cell and {limits.seconds:g} s in total. Each of its "
        f"exercises should be {expected}, but:",
        *_describe(failed),
        _advice(original, failed, limits, isolated=isolated),
    ]
    raise CourseError("\n".join(lines))


def _reference(original: Path) -> tuple[Path, MarkStatus]:
    solution = original.parent / "solutions" / original.name
    if solution.is_file():
        return solution, MarkStatus.PASSED
    return original, MarkStatus.NOT_WRITTEN


def unexpected_marks(
    original: Path, limits: SandboxLimits, *, isolated: bool
) -> tuple[list[Mark], bool]:
    """Grade the lab's solution; return the unexpected marks and whether it ran in bubblewrap."""
    notebook_file, expected = _reference(original)
    notebook = nbformat.read(notebook_file, as_version=4)
    submission = Submission("the lab's own solution", str(notebook_file), notebook)
    lab = nbformat.read(original, as_version=4)
    graded = grade_submission(lab, submission, limits, isolated=isolated)
    return [mark for mark in graded.marks if mark.status is not expected], graded.isolated


def _advice(original: Path, marks: list[Mark], limits: SandboxLimits, *, isolated: bool) -> str:
    if any(mark.stop and mark.stop.is_limit for mark in marks):
        return (
            "Raise the limits (--memory, --cell-seconds, --seconds), or stop other programs on "
            "this machine. To check for other problems: course doctor"
        )
    # The solution is trusted code, so it is safe to run outside the sandbox.
    if isolated and not unexpected_marks(original, limits, isolated=False)[0]:
        return (
            "Without bubblewrap, the solution gets full points, so the sandbox is the cause. If "
            "the students' code may use this machine's files and network, add --no-sandbox."
        )
    if any(mark.status is MarkStatus.NOT_GRADED for mark in marks):
        return "To find the cause: course doctor"
    return "The lab, its solution and helpers/checks may not match. To check: course build --check"


def _describe(marks: list[Mark]) -> list[str]:
    """Return one line per distinct problem, with the affected exercises."""
    exercises_by_problem: dict[str, list[str]] = {}
    for mark in marks:
        exercises_by_problem.setdefault(mark.description, []).append(str(mark.exercise))
    return [
        f"  exercise{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}: {text}"
        for text, numbers in exercises_by_problem.items()
    ]
