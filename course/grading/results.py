"""The marks of a submission, how they are stored, and the points that the instructor entered."""

from __future__ import annotations

import csv
import enum
import hashlib
import json
import math
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import helpers.checks
from course.course_folder import CourseError
from course.files import write_atomically
from course.grading.answers import SubmittedCell
from course.grading.limits import SandboxLimits, StopReason
from course.grading.students import Submission, file_name

MANUAL_POINTS_FILE = "manual.csv"
_MANUAL_COLUMNS = "student, exercise, points, comment"
ManualPoints = dict[tuple[str, int], tuple[float | None, str]]


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
    # The instructor entered the points in manual.csv.
    MANUAL = "manual"


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
    def points_or_blank(self) -> int | float | str:
        """The points; "" if this machine could not grade the exercise."""
        return "" if self.status is MarkStatus.NOT_GRADED else self.points

    @property
    def is_final(self) -> bool:
        """False if a busy machine may have caused this mark."""
        is_stopped = self.stop is not None and self.stop.depends_on_machine
        return self.status is not MarkStatus.NOT_GRADED and not is_stopped


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
    def max_points(self) -> int:
        """The maximum points of the lab."""
        return sum(mark.max_points for mark in self.marks)

    @property
    def is_graded(self) -> bool:
        """Whether this machine could grade every exercise."""
        return all(mark.status is not MarkStatus.NOT_GRADED for mark in self.marks)


class StoredResults:
    """The results of earlier runs of `course grade` in the folder `out`.

    A result is reused if the submission, the lab, its checks and the limits are unchanged.
    """

    def __init__(self, out: Path, original: Path, limits: SandboxLimits, isolated: bool) -> None:
        self._folder = out / "graded"
        checks = sorted(Path(helpers.checks.__file__).parent.rglob("*.py"))
        parts = [repr((limits, isolated)).encode(), *(p.read_bytes() for p in (original, *checks))]
        self._base = hashlib.sha256(b"\0".join(parts)).hexdigest()

    def _file(self, submission: Submission) -> Path:
        return self._folder / f"{file_name(submission.student)}.json"

    def _key(self, submission: Submission) -> str:
        text = json.dumps([self._base, submission.digest, submission.problem, submission.others])
        return hashlib.sha256(text.encode()).hexdigest()

    def load(self, submission: Submission) -> GradedSubmission | None:
        """Return the stored final result of an unchanged submission; None if there is none."""
        try:
            data = json.loads(self._file(submission).read_text(encoding="utf-8"))
            if data.pop("key") != self._key(submission) or not data.pop("final"):
                return None
            for mark in data["marks"]:
                mark["status"] = MarkStatus(mark["status"])
                mark["stop"] = StopReason(mark["stop"]) if mark["stop"] else None
            data["marks"] = [Mark(**mark) for mark in data["marks"]]
            return GradedSubmission(submission, **data)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, graded: GradedSubmission, *, final: bool) -> None:
        """Store a result. If it is not `final`, the next run grades the submission again."""
        data = {
            "key": self._key(graded.submission),
            "final": final and graded.is_graded,
            "marks": [asdict(mark) for mark in graded.marks],
            **{name: getattr(graded, name) for name in ("notes", "seconds", "isolated")},
        }
        write_atomically(self._file(graded.submission), json.dumps(data, indent=1))


def read_manual_points(out: Path) -> ManualPoints:
    """Return the points and comments in `manual.csv`, by student and exercise.

    Creates an empty file if there is none. If `points` is empty, the exercise keeps its mark and
    only the comment is added.
    """
    file = out / MANUAL_POINTS_FILE
    if not file.exists():
        write_atomically(file, f"{_MANUAL_COLUMNS.replace(' ', '')}\n".encode("utf-8-sig"))
    entries: ManualPoints = {}
    with file.open(encoding="utf-8-sig", newline="") as lines:
        for number, row in enumerate(csv.DictReader(lines), start=2):
            try:
                points = float(row["points"]) if (row["points"] or "").strip() else None
                if points is not None and not math.isfinite(points):
                    raise ValueError
                key = row["student"].removeprefix("'"), int(row["exercise"])
                entries[key] = points, (row.get("comment") or "").strip()
            except (KeyError, ValueError, TypeError, AttributeError):
                raise CourseError(
                    f"{file}, line {number}: expected {_MANUAL_COLUMNS}, such as "
                    '"Ada Lovelace,3,1.5,right idea".'
                ) from None
    return entries


def apply_manual_points(graded: GradedSubmission, manual: ManualPoints) -> GradedSubmission:
    """Return the submission with the instructor's points and comments applied."""
    marks = []
    for mark in graded.marks:
        points, comment = manual.get((graded.submission.student, mark.exercise), (None, ""))
        mark = replace(mark, message=comment or mark.message)
        if points is not None:
            value = int(points) if points.is_integer() else points
            mark = replace(mark, points=value, status=MarkStatus.MANUAL, hint=None, stop=None)
        marks.append(mark)
    return replace(graded, marks=marks)
