"""Writes what the instructor and the students read: the tables, the pages, and the feedback zip."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import zipfile
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
from markupsafe import Markup, escape
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course.files import write_atomically
from course.grading.answers import CellKind
from course.grading.results import GradedSubmission, MarkStatus
from course.grading.students import file_name
from course.reports.pages import page_environment, write_page

FEEDBACK_ZIP = "feedback.zip"
# Images attached to a text cell, such as the Colab badge. The page shows their alt text instead.
_ATTACHED_IMAGE = re.compile(r"!\[([^\]]*)\]\(attachment:[^)]*\)")
# The first characters of a formula. The last four are full-width =, +, - and @, which spreadsheets
# in East Asian locales treat like ASCII.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_Rows = list[dict[str, object]]


def write_tables(
    submissions: Sequence[GradedSubmission], lab: str, title: str, out: Path
) -> list[Path]:
    """Write `gradebook.csv`, `totals.csv`, and `moodle.csv` or `canvas.csv` if they apply.

    If an exercise was not graded, its points and the student's total are left empty.
    """
    tables: dict[str, _Rows] = {"gradebook.csv": [], "totals.csv": []}
    for graded in submissions:
        submission = graded.submission
        student = {"student": submission.student, "id": submission.identity.id}
        late, notes = "late" if submission.late else "", "; ".join(graded.notes)
        points = {f"exercise {mark.exercise}": mark.points_or_blank for mark in graded.marks}
        total = graded.points if graded.is_graded else ""
        row = {**student, "points": total, "max_points": graded.max_points, **points}
        tables["totals.csv"].append({**row, "late": late, "notes": notes})
        for mark in graded.marks:
            row = {**student, "lab": lab, "exercise": mark.exercise}
            row |= {"points": mark.points_or_blank, "max_points": mark.max_points}
            row |= {"status": mark.status, "message": mark.message, "hint": mark.hint or ""}
            row |= {"late": late, "file": submission.path, "notes": notes}
            tables["gradebook.csv"].append(row)
        if submission.identity.platform == "moodle":
            tables.setdefault("moodle.csv", []).append(_moodle_row(graded, total))
        if submission.identity.platform == "canvas":
            # Canvas matches students by ID and requires Section as the last column before the
            # assignments (lib/gradebook_importer.rb).
            columns = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section", title)
            maximum = ("    Points Possible", "", "", "", "", graded.max_points)
            row = (submission.identity.name, student["id"], "", "", "", total)
            rows = tables.setdefault("canvas.csv", [dict(zip(columns, maximum, strict=True))])
            rows.append(dict(zip(columns, row, strict=True)))
    for name, rows in tables.items():
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([rows[0] if rows else (), *([*map(_escape, r.values())] for r in rows)])
        # Excel needs the byte order mark to detect UTF-8.
        write_atomically(out / name, text.getvalue().encode("utf-8-sig", "replace"))
    return [out / name for name in tables]


def _escape(value: object) -> object:
    """Escape text that a spreadsheet would interpret as a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA_STARTS) else value


def _moodle_row(graded: GradedSubmission, total: object) -> dict[str, object]:
    """Return a row of a Moodle offline grading worksheet.

    Moodle rejects a file without Identifier, Grade or Last modified (grade), ignores empty grades,
    and reads comments from the column named after the feedback type
    (mod/assign/feedback/offline/importgradeslib.php). It does not overwrite a grade that
    was changed in Moodle after the time in the file.
    """
    lost = [mark for mark in graded.marks if mark.points != mark.max_points]
    return {
        "Identifier": f"Participant {graded.submission.identity.id}",
        "Full name": graded.submission.identity.name,
        "Grade": total,
        "Maximum Grade": graded.max_points,
        "Last modified (grade)": datetime.now().astimezone().isoformat(timespec="seconds"),
        "Feedback comments": "\n".join(f"Exercise {m.exercise}: {m.description}" for m in lost),
    }


def write_class_page(
    submissions: Sequence[GradedSubmission], lab: str, title: str, files: Sequence[Path], out: Path
) -> Path:
    """Write `index.html`: results by exercise, frequent hints, and all marks."""
    environment = page_environment()
    environment.filters["code"] = _to_html
    page = environment.get_template("grades.html.j2").render(
        title=title,
        lab=lab,
        now=datetime.now(),
        submissions=submissions,
        marks=[mark for graded in submissions for mark in graded.marks],
        hints=_most_common_hints(submissions),
        not_isolated=any(graded.cells and not graded.isolated for graded in submissions),
        ungraded=[graded.submission.student for graded in submissions if not graded.is_graded],
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


def _most_common_hints(submissions: Sequence[GradedSubmission]) -> list[dict[str, Any]]:
    """Return the 12 most common hints: exercise, hint, number of students, and text."""
    messages: dict[tuple[int, str], Counter[str]] = {}
    for mark in (mark for graded in submissions for mark in graded.marks):
        if mark.hint not in (None, "", "not-written"):
            messages.setdefault((mark.exercise, mark.hint), Counter())[mark.message] += 1
    ranked = sorted(messages.items(), key=lambda item: (-item[1].total(), item[0]))
    return [
        {
            "exercise": exercise,
            "hint": hint,
            "count": texts.total(),
            "message": texts.most_common(1)[0][0],
        }
        for (exercise, hint), texts in ranked[:12]
    ]


def write_feedback(
    graded: GradedSubmission, title: str, out: Path, *, anonymous: bool = False
) -> Path | None:
    """Write `feedback/STUDENT.html`: the marks, then the executed lab; None if nothing ran.

    The page includes only text and images from the outputs of the student's code, so it is safe
    to open. With `anonymous`, neither the page nor its name contains the student's name.
    """
    folder = out / "feedback"
    file = folder / f"{_page_name(graded, anonymous=anonymous)}.ipynb"
    # The page from an earlier run with the opposite `anonymous` setting.
    other = folder / f"{_page_name(graded, anonymous=not anonymous)}.ipynb"
    table = _marks_as_table(graded, title, file.stem if anonymous else graded.submission.student)
    if graded.cells:
        notebook = _executed_notebook(graded, title)
    else:
        stored = file if file.is_file() else other
        if not stored.is_file():
            return None
        notebook = nbformat.read(stored, as_version=4)
    page = file.with_suffix(".html")
    if not page.is_file() or graded.cells or notebook.cells[0].source != table:
        notebook.cells[0].source = table
        write_atomically(file, nbformat.writes(notebook).encode("utf-8", "replace"))
        # Students get only this page, so it does not link to the class's results.
        write_page(file, index="")
    for old in {other, other.with_suffix(".html")} - {file, page}:
        old.unlink(missing_ok=True)
    return page


def _executed_notebook(graded: GradedSubmission, title: str) -> nbformat.NotebookNode:
    """Return the lab with the student's answers and outputs, after an empty text cell."""
    cells = [new_markdown_cell("")]
    for cell, result in graded.cells:
        if cell.kind is CellKind.TEXT:
            cells.append(new_markdown_cell(_ATTACHED_IMAGE.sub(r"\1", cell.source)))
            continue
        outputs = [
            new_output("stream" if "name" in output else "display_data", **output)
            for output in result.get("outputs", [])
        ]
        if result.get("error"):
            name, _, value = result["error"].partition(": ")
            trace = result.get("traceback", "") if cell.kind is CellKind.STUDENT else ""
            error = new_output("error", ename=name, evalue=value, traceback=trace.splitlines())
            outputs.append(error)
        metadata = {"jupyter": {"source_hidden": True}} if cell.collapsed else {}
        cells.append(new_code_cell(cell.source, outputs=outputs, metadata=metadata))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"title": title, "kernelspec": kernel})


def _page_name(graded: GradedSubmission, *, anonymous: bool) -> str:
    student = graded.submission.student
    if not anonymous:
        return file_name(student)
    digest = hashlib.sha256(student.encode("utf-8", "replace")).hexdigest()
    return f"participant-{graded.submission.identity.id or digest[:10]}"


def _marks_as_table(graded: GradedSubmission, title: str, name: str) -> str:
    rows = []
    for mark in graded.marks:
        # Text in backquotes becomes code.
        result = re.sub("&#96;(.+?)&#96;", r"<code>\1</code>", _escape_markdown(mark.description))
        rows.append(f"| {mark.exercise} | {mark.points_or_blank} | {mark.max_points} | {result} |")
    points = f"{_escape_markdown(name)}: **{graded.points} of {graded.max_points} points**"
    header = "| exercise | points | max points | result |\n|---|---|---|---|"
    return "\n\n".join([f"# {_escape_markdown(title)}", points, "\n".join([header, *rows])])


def _escape_markdown(text: str) -> str:
    """Escape `text` for Markdown, because a student may have written it."""
    flat = " ".join(text.split())
    return re.sub(r"[\\`*_{}\[\]<>#|&$~!]", lambda match: f"&#{ord(match[0])};", flat)


def write_feedback_zip(submissions: Sequence[GradedSubmission], out: Path) -> Path:
    """Write `feedback.zip` with the names that Moodle's and Canvas's uploads expect.

    Moodle: "upload multiple feedback files in a zip". Canvas: "upload submissions".
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for graded in submissions:
            if not graded.page:
                continue
            root = graded.submission.identity.root or file_name(graded.submission.student)
            is_canvas = graded.submission.identity.platform == "canvas"
            name = re.sub(r"\.[^/]*$", "", root) + ".html" if is_canvas else f"{root}/feedback.html"
            # On disk, a name may have bytes that are not UTF-8.
            name = name.encode("utf-8", "replace").decode()
            archive.writestr(name, (out / graded.page).read_bytes())
    file = out / FEEDBACK_ZIP
    write_atomically(file, content.getvalue())
    return file
