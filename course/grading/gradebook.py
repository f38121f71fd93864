"""Writes the grade tables: by exercise, in total, and for import into Moodle and Canvas."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from course.files import write_atomically
from course.grading.feedback import FEEDBACK_ZIP
from course.grading.marking import GradedSubmission, MarkStatus
from course.reports.pages import page_environment

COLUMNS = (
    "student", "id", "lab", "exercise", "points", "max_points", "status", "message", "hint", "late",
    "file", "notes",
)  # fmt: skip

MOODLE_COLUMNS = (
    "Identifier", "Full name", "Grade", "Maximum Grade", "Last modified (grade)",
    "Feedback comments",
)  # fmt: skip
CANVAS_COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


# Full-width =, +, - and @. Spreadsheets in East Asian locales treat them like ASCII.
_FULL_WIDTH = "\uff1d\uff0b\uff0d\uff20"


def write_tables(
    submissions: Sequence[GradedSubmission], lab: str, title: str, out: Path
) -> list[Path]:
    """Write `gradebook.csv`, `totals.csv`, and `moodle.csv` or `canvas.csv` if they apply.

    If an exercise was not graded, its points and the student's total are left empty.
    """
    numbers = [mark.exercise for mark in submissions[0].marks] if submissions else []
    exercises: list[Sequence[object]] = [COLUMNS]
    totals: list[Sequence[object]] = [
        [
            "student",
            "id",
            "points",
            "max_points",
            *(f"exercise {n}" for n in numbers),
            "late",
            "notes",
        ]
    ]
    for graded in submissions:
        student = [graded.submission.student, graded.submission.identity.id]
        late, notes = "late" if graded.submission.late else "", "; ".join(graded.notes)
        points = [mark.points if mark.status.has_points else "" for mark in graded.marks]
        totals.append([*student, _total(graded), graded.max_points, *points, late, notes])
        for mark, value in zip(graded.marks, points, strict=True):
            row = [
                lab,
                mark.exercise,
                value,
                mark.max_points,
                mark.status,
                mark.message,
                mark.hint or "",
            ]
            exercises.append([*student, *row, late, graded.submission.path, notes])
    files = [
        _write_csv(out / "gradebook.csv", exercises),
        _write_csv(out / "totals.csv", totals),
    ]
    for platform, write in {"moodle": _moodle_rows, "canvas": _canvas_rows}.items():
        platform_submissions = [
            graded for graded in submissions if graded.submission.identity.platform == platform
        ]
        if platform_submissions:
            files.append(_write_csv(out / f"{platform}.csv", write(platform_submissions, title)))
    return files


def _total(graded: GradedSubmission) -> object:
    return graded.points if all(mark.status.has_points for mark in graded.marks) else ""


def _feedback_comment(graded: GradedSubmission) -> str:
    """Return a line for each exercise that did not get full points."""
    return "\n".join(
        f"Exercise {mark.exercise}: {mark.description}"
        for mark in graded.marks
        if mark.points != mark.max_points
    )


def _moodle_rows(submissions: list[GradedSubmission], title: str) -> list[Sequence[object]]:
    """Return the rows of a Moodle offline grading worksheet.

    Moodle rejects a file without Identifier, Grade or Last modified (grade), ignores empty grades,
    and reads comments from the column named after the feedback type
    (mod/assign/feedback/offline/importgradeslib.php). It does not overwrite a grade that
    was changed in Moodle after the time in the file.
    """
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    rows: list[Sequence[object]] = [MOODLE_COLUMNS]
    for graded in submissions:
        student = graded.submission.identity
        rows.append(
            (
                f"Participant {student.id}",
                student.name,
                _total(graded),
                graded.max_points,
                now,
                _feedback_comment(graded),
            )
        )
    return rows


def _canvas_rows(submissions: list[GradedSubmission], title: str) -> list[Sequence[object]]:
    """Return the rows of a Canvas gradebook with a column for this lab.

    Canvas matches students by ID and requires Section as the last column before the assignments
    (lib/gradebook_importer.rb).
    """
    rows: list[Sequence[object]] = [
        (*CANVAS_COLUMNS, title),
        ("    Points Possible", "", "", "", "", submissions[0].max_points),
    ]
    for graded in submissions:
        student = graded.submission.identity
        rows.append((student.name, student.id, "", "", "", _total(graded)))
    return rows


def _write_csv(file: Path, rows: Sequence[Sequence[object]]) -> Path:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([map(_escape_formula, row) for row in rows])
    # Excel needs the byte order mark to detect UTF-8.
    write_atomically(file, text.getvalue().encode("utf-8-sig", "replace"))
    return file


def _escape_formula(value: object) -> object:
    """Escape text that a spreadsheet would interpret as a formula."""
    is_formula = isinstance(value, str) and value[:1] in {*"=+-@\t\r\n", *_FULL_WIDTH}
    return f"'{value}" if is_formula else value


def write_class_page(
    submissions: Sequence[GradedSubmission], lab: str, title: str, files: Sequence[Path], out: Path
) -> Path:
    """Write `index.html`: results by exercise, frequent hints, and all marks."""
    environment = page_environment()
    environment.filters["code"] = _to_html
    exercises = sorted({mark.exercise for graded in submissions for mark in graded.marks})
    page = environment.get_template("grades.html.j2").render(
        title=title,
        lab=lab,
        now=datetime.now(),
        submissions=submissions,
        exercises=[_exercise_summary(number, submissions) for number in exercises],
        hints=most_common_hints(submissions),
        not_isolated=any(graded.cells and not graded.isolated for graded in submissions),
        ungraded=[graded.submission.student for graded in submissions if not graded.is_graded],
        to_review=[graded.submission.student for graded in submissions if graded.needs_review],
        points=[graded.points for graded in submissions],
        files=[path.name for path in files],
        feedback_zip=FEEDBACK_ZIP if (out / FEEDBACK_ZIP).is_file() else "",
        Status=MarkStatus,
    )
    file = out / "index.html"
    write_atomically(file, page.encode("utf-8", "replace"))
    return file


def _to_html(text: str) -> Markup:
    """Convert a message to HTML; text in backticks becomes code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _exercise_summary(number: int, submissions: Sequence[GradedSubmission]) -> dict[str, Any]:
    marks = [mark for graded in submissions for mark in graded.marks if mark.exercise == number]
    passed = sum(mark.status is MarkStatus.PASSED for mark in marks)
    others = Counter(str(mark.status) for mark in marks if mark.status is not MarkStatus.PASSED)
    return {
        "number": number,
        "max_points": marks[0].max_points,
        "passed": passed,
        "count": len(marks),
        "pass_rate": round(100 * passed / len(marks)),
        "others": others.most_common(),
    }


def most_common_hints(
    submissions: Sequence[GradedSubmission], limit: int = 12
) -> list[dict[str, Any]]:
    """Return the most common last hints: exercise, hint, number of students, and text."""
    messages_by_hint: dict[tuple[int, str], list[str]] = {}
    for graded in submissions:
        for mark in graded.marks:
            if mark.hint and mark.status is not MarkStatus.PASSED:
                messages_by_hint.setdefault((mark.exercise, mark.hint), []).append(mark.message)
    ranked = sorted(messages_by_hint.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        {
            "exercise": exercise,
            "hint": hint,
            "count": len(messages),
            "message": Counter(messages).most_common(1)[0][0],
        }
        for (exercise, hint), messages in ranked[:limit]
        if hint != "not-written"
    ]
