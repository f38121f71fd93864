"""Checks that this machine can judge a lab: before the first submission, and between submissions.

A sandbox that does not start, or a limit too low for Python, would give a whole class no points.
So the lab's own solution is judged like a submission, and has to get every point.
"""

from __future__ import annotations

from pathlib import Path

import nbformat

from course.course_folder import CourseError
from course.grading.judges import Judges
from course.grading.limits import SandboxLimits
from course.grading.marking import Mark, MarkStatus, grade_submission
from course.grading.submissions import Submission


def check_machine(
    original: Path,
    limits: SandboxLimits,
    *,
    isolated: bool = True,
    judges: Judges | None = None,
) -> None:
    """Judge the solution of the lab `original`, or the lab itself where it has no solution.

    Raises:
        CourseError: it did not get every point; the message says what was tried and what to do.
    """
    tried, wanted = _reference(original)
    failed, isolated = unexpected_marks(original, limits, isolated=isolated, judges=judges)
    if not failed:
        return
    where = "in bubblewrap's sandbox" if isolated else "without a sandbox"
    lines = [
        f"This machine cannot judge {original.stem} now, so nothing was graded. {tried} was judged "
        f"first, like a submission, {where} with {limits.memory_bytes / 2**30:.1f} GiB, "
        f"{limits.cell_seconds:g} s per cell and {limits.seconds:g} s in total. Each of its "
        f"exercises should be {wanted}, but:",
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
    original: Path, limits: SandboxLimits, *, isolated: bool, judges: Judges | None = None
) -> tuple[list[Mark], bool]:
    """Judge the lab's solution; return the unexpected marks, and whether it was isolated."""
    tried, wanted = _reference(original)
    notebook = nbformat.read(tried, as_version=4)
    submission = Submission("the lab's own solution", str(tried), notebook)
    how = {"isolated": isolated, "judges": judges}
    graded = grade_submission(nbformat.read(original, as_version=4), submission, limits, **how)
    return [mark for mark in graded.marks if mark.status is not wanted], graded.isolated


def _advice(original: Path, failed: list[Mark], limits: SandboxLimits, *, isolated: bool) -> str:
    if any(mark.stop and mark.stop.is_limit for mark in failed):
        return (
            "Higher limits may help (--memory, --cell-seconds, --seconds), or fewer other programs "
            "on this machine. To see what else is wrong: course doctor"
        )
    # The solution is part of the course, so it is safe to run outside the sandbox.
    if isolated and not unexpected_marks(original, limits, isolated=False)[0]:
        return (
            "Without bubblewrap it gets every point, so the sandbox is the cause. If you trust the "
            "students' code with this machine's files and network, add --no-sandbox."
        )
    if any(mark.status is MarkStatus.NOT_GRADED for mark in failed):
        return "To see what is wrong: course doctor"
    return "The lab, its solution and helpers/checks may not match: course build --check"


def _describe(failed: list[Mark]) -> list[str]:
    """A line for each distinct problem, with the exercises in which it occurred."""
    same: dict[str, list[str]] = {}
    for mark in failed:
        same.setdefault(mark.description, []).append(str(mark.exercise))
    return [
        f"  exercise{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}: {text}"
        for text, numbers in same.items()
    ]
