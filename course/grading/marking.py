"""Grades one submission: a mark for each exercise, with the reason."""

from __future__ import annotations

import enum
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any

from nbformat import NotebookNode

from course.grading.answers import (
    CellKind,
    SubmittedCell,
    exercise_points,
    merge_answers,
    other_notebook,
)
from course.grading.internals import can_be_analyzed, uses_of_internals
from course.grading.limits import SandboxLimits, Stop, StopReason
from course.grading.session import Session
from course.grading.submissions import Submission

_MAX_FILES_LISTED = 20


class MarkStatus(enum.StrEnum):
    """The status of an exercise after grading."""

    PASSED = "passed"
    WRONG = "wrong"
    NOT_WRITTEN = "not written"
    STOPPED = "stopped"
    MISSING = "missing"
    UNREADABLE = "unreadable"
    # Caused by the machine, not by the student.
    NOT_GRADED = "not graded"
    # The answer gets no points until the instructor has reviewed it.
    TO_REVIEW = "to review"
    # The instructor entered the points in manual.csv.
    MANUAL = "manual"

    @property
    def has_points(self) -> bool:
        """Whether the points count, even if they are 0."""
        return self not in (MarkStatus.NOT_GRADED, MarkStatus.TO_REVIEW)


@dataclass(frozen=True)
class Mark:
    """The points of one exercise and the reason. `stop` is the stop reason, or None."""

    exercise: int
    points: int | float
    max_points: int
    status: MarkStatus
    message: str = ""
    hint: str | None = None
    stop: StopReason | None = None

    @property
    def description(self) -> str:
        """The status, followed by the message if there is one."""
        return f"{self.status}: {self.message}" if self.message else str(self.status)

    @property
    def is_final(self) -> bool:
        """Whether the mark does not depend on how busy the machine is."""
        stopped = self.stop is not None and self.stop.depends_on_machine
        return self.status is not MarkStatus.NOT_GRADED and not stopped


@dataclass
class GradedSubmission:
    """One submission with its marks, in the order of the exercises.

    `cells` has each cell with its result. `notes` are for the instructor.
    """

    submission: Submission
    marks: list[Mark]
    notes: list[str] = field(default_factory=list)
    cells: list[tuple[SubmittedCell, dict[str, Any]]] = field(default_factory=list)
    seconds: float = 0.0
    isolated: bool = True
    page: str = ""

    @property
    def points(self) -> int | float:
        """The total points."""
        return sum(mark.points for mark in self.marks)

    @property
    def is_graded(self) -> bool:
        """Whether this machine could grade every exercise."""
        return all(mark.status is not MarkStatus.NOT_GRADED for mark in self.marks)

    @property
    def needs_review(self) -> bool:
        """Whether the instructor has to review an answer before it gets points."""
        return any(mark.status is MarkStatus.TO_REVIEW for mark in self.marks)

    @property
    def max_points(self) -> int:
        """The maximum points of the lab."""
        return sum(mark.max_points for mark in self.marks)


def make_ungraded(
    original: NotebookNode, submission: Submission, status: MarkStatus, reason: str
) -> GradedSubmission:
    """Return a submission with 0 points and the same status and reason for every exercise."""
    marks = [
        Mark(n, 0, max_points, status, reason)
        for n, max_points in exercise_points(original).items()
    ]
    return GradedSubmission(submission, marks)


def grade_submission(
    original: NotebookNode,
    submission: Submission,
    limits: SandboxLimits,
    *,
    isolated: bool = True,
    cancel: threading.Event | None = None,
) -> GradedSubmission:
    """Grade every exercise of `submission`.

    Raises:
        Canceled: `cancel` was set.
    """
    if submission.notebook is None:
        return make_ungraded(original, submission, MarkStatus.UNREADABLE, submission.problem)
    points = exercise_points(original)
    merged = merge_answers(original, submission.notebook)
    if set(merged.missing) == set(points):
        other = other_notebook(original, submission.notebook)
        hint = f"; it is {other}" if other else ""
        reason = f"none of this lab's exercises is in the notebook{hint}"
        return make_ungraded(original, submission, MarkStatus.MISSING, reason)
    start = time.monotonic()
    session = Session(merged.cells, limits, cancel or threading.Event(), isolated)
    session.run()
    notes = [*merged.notes, *session.notes]
    if submission.others:
        listed = ", ".join(submission.others[:_MAX_FILES_LISTED])
        more = len(submission.others) - _MAX_FILES_LISTED
        notes.append(
            f"also submitted, not graded: {listed}" + (f" and {more:,} more" if more > 0 else "")
        )
    marks = [
        _make_mark(session, n, max_points, missing=n in merged.missing)
        for n, max_points in points.items()
    ]
    if problem := _describe_internals(merged.cells):
        notes.append(problem)
        marks = [_withhold_points(mark, problem) for mark in marks]
    cells = [(cell, session.results.get(index, {})) for index, cell in enumerate(merged.cells)]
    seconds = time.monotonic() - start
    return GradedSubmission(submission, marks, notes, cells, seconds, session.isolated)


def _describe_internals(cells: list[SubmittedCell]) -> str:
    student_cells = [cell for cell in cells if cell.kind is CellKind.STUDENT]
    if not can_be_analyzed(cell.source for cell in student_cells):
        return "has too much code to be analyzed"
    uses = [
        f"exercise {cell.exercise}, {use}"
        for cell in student_cells
        for use in uses_of_internals(cell.source)
    ]
    return f"uses Python's or the checks' internals: {'; '.join(uses[:8])}" if uses else ""


def _withhold_points(mark: Mark, problem: str) -> Mark:
    if mark.status is not MarkStatus.PASSED:
        return mark
    text = f"the check passed, but the submission {problem}"
    return replace(mark, points=0, status=MarkStatus.TO_REVIEW, message=text)


def _make_mark(session: Session, number: int, max_points: int, *, missing: bool) -> Mark:
    """Return the mark of exercise `number`, which is worth `max_points` points."""
    indices = [index for index, cell in enumerate(session.cells) if cell.exercise == number]
    verdict = session.verdicts.get(number)
    passed = verdict is not None and verdict["passed"]
    for index in indices:
        stop: Stop | None = session.stops.get(index)
        if stop and (not passed or session.cells[index].kind is CellKind.CHECK):
            text = f"its code {stop.text}"
            status = MarkStatus.STOPPED
            if stop.reason is StopReason.BUSY:
                status = MarkStatus.NOT_GRADED
            return Mark(number, 0, max_points, status, text, stop=stop.reason)
    if verdict is None:
        if session.fault and not missing:
            fault = session.fault
            return Mark(number, 0, max_points, MarkStatus.NOT_GRADED, fault.text, stop=fault.reason)
        return Mark(
            number, 0, max_points, MarkStatus.MISSING, "the exercise is not in the notebook"
        )
    stop_reason = StopReason(verdict["stop"]) if verdict["stop"] else None
    if passed:
        return Mark(number, max_points, max_points, MarkStatus.PASSED)
    if missing:
        return Mark(
            number, 0, max_points, MarkStatus.MISSING, "the exercise is not in the notebook"
        )
    is_stub = verdict["hint"] == "not-written"
    message = verdict["message"]
    if verdict["hint"] is None:
        # The cell with the answer failed, so there was nothing to check.
        errors = (_error_in_answer(session, index) for index in indices)
        message = next(filter(None, errors), message)
    status = MarkStatus.NOT_WRITTEN if is_stub else MarkStatus.WRONG
    return Mark(number, 0, max_points, status, message, verdict["hint"], stop_reason)


def _error_in_answer(session: Session, index: int) -> str:
    if session.cells[index].kind is not CellKind.STUDENT:
        return ""
    error = session.results.get(index, {}).get("error", "")
    return f"the answer's cell stops with {error}" if error else ""
