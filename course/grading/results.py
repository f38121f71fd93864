"""Stores graded submissions so that grading can resume and skip unchanged submissions."""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path

import helpers.checks
from course.course_folder import CourseError
from course.files import write_atomically
from course.grading.limits import SandboxLimits, StopReason
from course.grading.marking import GradedSubmission, Mark, MarkStatus
from course.grading.students import file_name
from course.grading.submissions import Submission

MANUAL = "manual.csv"
_MANUAL_COLUMNS = ("student", "exercise", "points", "comment")


class StoredResults:
    """The results of earlier runs of `course grade` in the folder `out`.

    A result is reused if the submission, the lab, its checks and the limits are unchanged.
    """

    def __init__(self, out: Path, original: Path, limits: SandboxLimits, *, isolated: bool) -> None:
        self._folder = out / "graded"
        checks = sorted(Path(helpers.checks.__file__).parent.rglob("*.py"))
        parts = [original.read_bytes(), repr((limits, isolated)).encode()]
        parts += [path.read_bytes() for path in checks]
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
            if data["key"] != self._key(submission) or not data["final"]:
                return None
            for mark in data["marks"]:
                mark["status"] = MarkStatus(mark["status"])
                mark["stop"] = StopReason(mark["stop"]) if mark["stop"] else None
            marks = [Mark(**mark) for mark in data["marks"]]
            return GradedSubmission(
                submission, marks, data["notes"], seconds=data["seconds"], isolated=data["isolated"]
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, graded: GradedSubmission, *, final: bool) -> None:
        """Store a result. If it is not `final`, the next run grades the submission again."""
        data = {
            "key": self._key(graded.submission),
            "final": final and graded.is_graded,
            "marks": [asdict(mark) for mark in graded.marks],
            "notes": graded.notes,
            "seconds": graded.seconds,
            "isolated": graded.isolated,
        }
        write_atomically(self._file(graded.submission), json.dumps(data, indent=1).encode())


def read_manual_points(out: Path) -> dict[tuple[str, int], tuple[float | None, str]]:
    """Return the points and comments in `manual.csv`, by student and exercise.

    Creates an empty file if there is none. If `points` is empty, the exercise keeps its mark and
    only the comment is added.
    """
    file = out / MANUAL
    if not file.exists():
        write_atomically(file, (",".join(_MANUAL_COLUMNS) + "\n").encode("utf-8-sig"))
        return {}
    entries: dict[tuple[str, int], tuple[float | None, str]] = {}
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
                    f"{file}, line {number}: expected {', '.join(_MANUAL_COLUMNS)}, such as "
                    '"Ada Lovelace,3,1.5,right idea".'
                ) from None
    return entries


def find_unmatched_rows(
    manual: Iterable[tuple[str, int]], submissions: Iterable[GradedSubmission]
) -> list[str]:
    """Describe the rows of `manual.csv` that do not match any student and exercise."""
    keys = {
        (graded.submission.student, mark.exercise)
        for graded in submissions
        for mark in graded.marks
    }
    return [
        f"{student}, exercise {number}"
        for student, number in manual
        if (student, number) not in keys
    ]


def apply_manual_points(
    graded: GradedSubmission, manual: dict[tuple[str, int], tuple[float | None, str]]
) -> GradedSubmission:
    """Return the submission with the instructor's points and comments applied."""
    marks = []
    for mark in graded.marks:
        points, comment = manual.get((graded.submission.student, mark.exercise), (None, ""))
        if comment or points is not None:
            mark = replace(mark, message=comment or mark.message)
        if points is not None:
            value = int(points) if points.is_integer() else points
            mark = replace(mark, points=value, status=MarkStatus.MANUAL, hint=None, stop=None)
        marks.append(mark)
    return replace(graded, marks=marks)
