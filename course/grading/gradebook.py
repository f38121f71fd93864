"""The grade tables: by exercise, in total, and for import into Moodle and Canvas."""

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


# Spreadsheets with East Asian settings take these for =, +, - and @.
_FULL_WIDTH = "\uff1d\uff0b\uff0d\uff20"


def write_tables(
    submissions: Sequence[GradedSubmission], lab: str, title: str, out: Path
) -> list[Path]:
    """Write `gradebook.csv`, `totals.csv`, and `moodle.csv` or `canvas.csv` where names have ids.

    The points of an exercise that was not judged, and the student's total, are left empty.
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
    for one in submissions:
        who = [one.submission.student, one.submission.identity.id]
        late, notes = "late" if one.submission.late else "", "; ".join(one.notes)
        points = [mark.points if mark.status.has_points else "" for mark in one.marks]
        totals.append([*who, _total(one), one.max_points, *points, late, notes])
        for mark, shown in zip(one.marks, points, strict=True):
            row = [
                lab,
                mark.exercise,
                shown,
                mark.max_points,
                mark.status,
                mark.message,
                mark.hint or "",
            ]
            exercises.append([*who, *row, late, one.submission.path, notes])
    files = [
        _write_csv(out / "gradebook.csv", exercises),
        _write_csv(out / "totals.csv", totals),
    ]
    for platform, write in {"moodle": _moodle, "canvas": _canvas}.items():
        chosen = [one for one in submissions if one.submission.identity.platform == platform]
        if chosen:
            files.append(_write_csv(out / f"{platform}.csv", write(chosen, title)))
    return files


def _total(one: GradedSubmission) -> object:
    return one.points if all(mark.status.has_points for mark in one.marks) else ""


def _comment(one: GradedSubmission) -> str:
    """A line for each exercise that did not get full points."""
    return "\n".join(
        f"Exercise {mark.exercise}: {mark.description}"
        for mark in one.marks
        if mark.points != mark.max_points
    )


def _moodle(submissions: list[GradedSubmission], title: str) -> list[Sequence[object]]:
    """An offline grading worksheet of Moodle.

    Moodle refuses a file without Identifier, Grade or Last modified (grade), ignores empty grades,
    and reads comments from the column of the feedback type that is called so
    (mod/assign/feedback/offline/importgradeslib.php). It keeps a grade that was changed in Moodle
    after the time in the file.
    """
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    rows: list[Sequence[object]] = [MOODLE_COLUMNS]
    for one in submissions:
        who = one.submission.identity
        rows.append(
            (f"Participant {who.id}", who.name, _total(one), one.max_points, now, _comment(one))
        )
    return rows


def _canvas(submissions: list[GradedSubmission], title: str) -> list[Sequence[object]]:
    """A gradebook of Canvas with a column for this lab.

    Canvas finds students by their ID, and requires Section as the last column before the
    assignments (lib/gradebook_importer.rb).
    """
    rows: list[Sequence[object]] = [
        (*CANVAS_COLUMNS, title),
        ("    Points Possible", "", "", "", "", submissions[0].max_points),
    ]
    for one in submissions:
        who = one.submission.identity
        rows.append((who.name, who.id, "", "", "", _total(one)))
    return rows


def _write_csv(file: Path, rows: Sequence[Sequence[object]]) -> Path:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([map(_escape_formula, row) for row in rows])
    # With a byte order mark, by which Excel recognizes UTF-8.
    write_atomically(file, text.getvalue().encode("utf-8-sig", "replace"))
    return file


def _escape_formula(value: object) -> object:
    """Escape a text that a spreadsheet would interpret as a formula."""
    risky = isinstance(value, str) and value[:1] in {*"=+-@\t\r\n", *_FULL_WIDTH}
    return f"'{value}" if risky else value


def write_class_page(
    submissions: Sequence[GradedSubmission], lab: str, title: str, files: Sequence[Path], out: Path
) -> Path:
    """Write `index.html`: results by exercise, frequent hints, and all marks."""
    environment = page_environment()
    environment.filters["code"] = _with_code
    exercises = sorted({mark.exercise for one in submissions for mark in one.marks})
    page = environment.get_template("grades.html.j2").render(
        title=title,
        lab=lab,
        now=datetime.now(),
        submissions=submissions,
        exercises=[_exercise(number, submissions) for number in exercises],
        hints=most_common_hints(submissions),
        not_isolated=any(one.cells and not one.isolated for one in submissions),
        ungraded=[one.submission.student for one in submissions if not one.is_graded],
        to_review=[one.submission.student for one in submissions if one.to_review],
        points=[one.points for one in submissions],
        files=[path.name for path in files],
        feedback_zip=FEEDBACK_ZIP if (out / FEEDBACK_ZIP).is_file() else "",
        Status=MarkStatus,
    )
    file = out / "index.html"
    write_atomically(file, page.encode("utf-8", "replace"))
    return file


def _with_code(text: str) -> Markup:
    """Convert a message to HTML, with text between backticks as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _exercise(number: int, submissions: Sequence[GradedSubmission]) -> dict[str, Any]:
    marks = [mark for one in submissions for mark in one.marks if mark.exercise == number]
    passed = sum(mark.status is MarkStatus.PASSED for mark in marks)
    others = Counter(str(mark.status) for mark in marks if mark.status is not MarkStatus.PASSED)
    return {
        "number": number,
        "max_points": marks[0].max_points,
        "passed": passed,
        "count": len(marks),
        "share": round(100 * passed / len(marks)),
        "others": others.most_common(),
    }


def most_common_hints(
    submissions: Sequence[GradedSubmission], most: int = 12
) -> list[dict[str, Any]]:
    """The most common last hints: exercise, hint, number of students, and text."""
    found: dict[tuple[int, str], list[str]] = {}
    for one in submissions:
        for mark in one.marks:
            if mark.hint and mark.status is not MarkStatus.PASSED:
                found.setdefault((mark.exercise, mark.hint), []).append(mark.message)
    ranked = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        {
            "exercise": exercise,
            "hint": hint,
            "count": len(messages),
            "message": Counter(messages).most_common(1)[0][0],
        }
        for (exercise, hint), messages in ranked[:most]
        if hint != "not-written"
    ]
