"""Proves, before the first submission, that this machine can judge a lab at all.

A box that does not start, a limit too low for Python, an image cache that is not to be had: each of
these would give a whole class nothing. So the lab's own solution is judged first, as a submission
is, and has to get every point.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import nbformat

from course.course_folder import CourseError
from course.grading.box import Limits
from course.grading.marking import NOT_JUDGED, NOT_WRITTEN, PASSED, Mark, mark
from course.grading.sitting import OVER
from course.grading.submissions import Submission


# Once for a process is enough.
@cache
def rehearse(original: Path, limits: Limits, *, shut: bool = True) -> None:
    """Judge the solution of the lab `original`, or the lab itself where it has no solution.

    Raises:
        CourseError: it did not get what it must; says what was tried, and what to do.
    """
    solution = original.parent / "solutions" / original.name
    tried = solution if solution.is_file() else original
    wanted = PASSED if tried is solution else NOT_WRITTEN
    amiss, shut = _amiss(original, tried, wanted, limits, shut=shut)
    if not amiss:
        return
    lines = [
        f"This machine cannot judge {original.stem} now, so nothing was graded. {tried} was judged "
        f"first, as a submission is, {_where(limits, shut=shut)}, and each of its exercises should "
        f"have come out as {wanted}. But:",
        *_told(amiss),
    ]
    lines.append(_advice(original, tried, wanted, amiss, limits, shut=shut))
    raise CourseError("\n".join(lines))


def _amiss(
    original: Path, tried: Path, wanted: str, limits: Limits, *, shut: bool
) -> tuple[list[Mark], bool]:
    """The exercises that are not as `wanted`, and whether they were judged behind walls."""
    notebook = nbformat.read(tried, as_version=4)
    submission = Submission("the lab's own solution", str(tried), notebook)
    marked = mark(nbformat.read(original, as_version=4), submission, limits, shut=shut)
    return [one for one in marked.marks if one.status != wanted], marked.shut


def _advice(
    original: Path, tried: Path, wanted: str, amiss: list[Mark], limits: Limits, *, shut: bool
) -> str:
    if any(over in one.message for one in amiss for over in OVER):
        return (
            "A higher limit may help (--memory, --cell-seconds, --seconds), or fewer programs "
            "beside it. To see what else is wrong here: course doctor"
        )
    # The solution is the course's own, so it may run in the open to tell what is in the way.
    if shut and not _amiss(original, tried, wanted, limits, shut=False)[0]:
        return (
            "Without bubblewrap all is well: its walls are what is in the way. If you trust the "
            "students' code with this machine's files and network, add --no-walls."
        )
    if any(one.status == NOT_JUDGED for one in amiss):
        return "To see what is wrong here: course doctor"
    return "The lab, its solution and helpers/checks may not fit together: course build --check"


def _told(amiss: list[Mark]) -> list[str]:
    """A line for each thing that went wrong, with the exercises that it went wrong in."""
    same: dict[str, list[str]] = {}
    for one in amiss:
        said = f"{one.status}: {one.message}" if one.message else one.status
        same.setdefault(said, []).append(str(one.exercise))
    return [
        f"  exercise{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}: {said}"
        for said, numbers in same.items()
    ]


def _where(limits: Limits, *, shut: bool) -> str:
    walls = "in bubblewrap's box" if shut else "without walls"
    return (
        f"{walls} with {limits.memory / 2**30:.1f} GiB, {limits.cell_seconds:g} s a cell and "
        f"{limits.seconds:g} s in all"
    )
