"""Marks one submission: what each exercise gets, by what came of it in the box, and why."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from nbformat import NotebookNode

from course.grading.box import Limits
from course.grading.paper import Cell, points_of, put_together
from course.grading.sitting import Sitting
from course.grading.submissions import Submission

PASSED, WRONG, NOT_WRITTEN = "passed", "wrong", "not written"
STOPPED, MISSING, UNREADABLE = "stopped", "missing", "unreadable"
# The machine's fault, not the student's.
NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class Mark:
    """What one exercise got, and why."""

    exercise: int
    points: int
    of: int
    status: str
    message: str = ""
    hint: str | None = None


@dataclass
class Marked:
    """One submission with its marks, in the order of the exercises.

    `ran` holds the cells that were run, each with its outputs. `notes` are for the instructor:
    what was mended or looks odd.
    """

    submission: Submission
    marks: list[Mark]
    notes: list[str] = field(default_factory=list)
    ran: list[tuple[Cell, dict[str, Any]]] = field(default_factory=list)
    seconds: float = 0.0
    shut: bool = True

    @property
    def points(self) -> int:
        """The sum of its points."""
        return sum(mark.points for mark in self.marks)

    @property
    def judged(self) -> bool:
        """Whether this machine could judge all of it."""
        return all(mark.status != NOT_JUDGED for mark in self.marks)

    @property
    def of(self) -> int:
        """What there was to get."""
        return sum(mark.of for mark in self.marks)


def mark(
    original: NotebookNode,
    submission: Submission,
    limits: Limits,
    *,
    shut: bool = True,
    stop: threading.Event | None = None,
) -> Marked:
    """Judge every exercise of `submission`; never raises for anything a student can hand in.

    Raises:
        Broken: soon after `stop` was set.
    """
    points = points_of(original)
    if submission.notebook is None:
        marks = [Mark(n, 0, of, UNREADABLE, submission.problem) for n, of in points.items()]
        return Marked(submission, marks)
    paper = put_together(original, submission.notebook)
    if set(paper.missing) == set(points):
        problem = "none of this lab's exercises is in it"
        return Marked(submission, [Mark(n, 0, of, MISSING, problem) for n, of in points.items()])
    begun = time.monotonic()
    sitting = Sitting(paper.cells, limits, stop or threading.Event(), shut=shut)
    sitting.run()
    notes = [*paper.notes, *sitting.notes]
    if submission.others:
        notes.append(f"handed in beside it, and not looked at: {', '.join(submission.others)}")
    return Marked(
        submission,
        [_mark_of(sitting, n, of, missing=n in paper.missing) for n, of in points.items()],
        notes,
        [(cell, sitting.found.get(place, {})) for place, cell in enumerate(paper.cells)],
        time.monotonic() - begun,
        sitting.shut,
    )


def _mark_of(sitting: Sitting, number: int, of: int, *, missing: bool) -> Mark:
    """What exercise `number`, worth `of` points, has got."""
    places = [place for place, cell in enumerate(sitting.cells) if cell.exercise == number]
    verdict = sitting.judged.get(number)
    passed = verdict is not None and verdict["passed"]
    for place in places:
        if place in sitting.ended and (not passed or sitting.cells[place].kind == "check"):
            return Mark(number, 0, of, STOPPED, f"its code {sitting.ended[place]}")
    if verdict is None:
        if sitting.fault and not missing:
            return Mark(number, 0, of, NOT_JUDGED, sitting.fault)
        return Mark(number, 0, of, MISSING, "the exercise is not in the notebook")
    if verdict["replaced"]:
        text = f"the answer replaced {', '.join(verdict['replaced'])} while it was judged"
        return Mark(number, 0, of, WRONG, text, "replaced")
    if passed:
        return Mark(number, of, of, PASSED)
    if missing:
        return Mark(number, 0, of, MISSING, "the exercise is not in the notebook")
    status = NOT_WRITTEN if verdict["hint"] == "not-written" else WRONG
    message = verdict["message"]
    if verdict["hint"] is None:
        # The check had nothing to judge, because the answer's own cell had come to nothing.
        errors = (_error_in_answer(sitting, place) for place in places)
        message = next(filter(None, errors), message)
    return Mark(number, 0, of, status, message, verdict["hint"])


def _error_in_answer(sitting: Sitting, place: int) -> str:
    if sitting.cells[place].kind != "student":
        return ""
    error = sitting.found.get(place, {}).get("error", "")
    return f"the answer's cell stops with {error}" if error else ""
