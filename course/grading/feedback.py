"""Writes a feedback page per student, and a zip of all pages for the learning platform."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course.files import write_atomically
from course.grading.answers import CellKind
from course.grading.marking import GradedSubmission
from course.grading.students import file_name
from course.reports.pages import write_page

FEEDBACK_ZIP = "feedback.zip"
# Images attached to a text cell, such as the Colab badge. The page shows their alt text instead.
_ATTACHED_IMAGE = re.compile(r"!\[([^\]]*)\]\(attachment:[^)]*\)")


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
    table = _marks_as_table(graded, title, anonymous=anonymous)
    if graded.cells:
        notebook = _notebook_of(graded, title, table)
    else:
        stored = file if file.is_file() else other
        if not stored.with_suffix(".html").is_file() or not stored.is_file():
            return None
        notebook = nbformat.read(stored, as_version=4)
        if notebook.cells[0].source == table:
            return file.with_suffix(".html")
        notebook.cells[0].source = table
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(file, nbformat.writes(notebook).encode("utf-8", "replace"))
    # Students get only this page, so it does not link to the class's results.
    page = write_page(file, index="")
    if other != file:
        other.unlink(missing_ok=True)
        other.with_suffix(".html").unlink(missing_ok=True)
    return page


def _notebook_of(graded: GradedSubmission, title: str, table: str) -> nbformat.NotebookNode:
    cells = [new_markdown_cell(table)]
    for cell, result in graded.cells:
        if cell.kind is CellKind.TEXT:
            cells.append(new_markdown_cell(_ATTACHED_IMAGE.sub(r"\1", cell.source)))
            continue
        outputs = [
            new_output("stream", **output)
            if "name" in output
            else new_output("display_data", **output)
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


def _marks_as_table(graded: GradedSubmission, title: str, *, anonymous: bool) -> str:
    name = _page_name(graded, anonymous=True) if anonymous else graded.submission.student
    lines = [
        f"# {_escape(title)}",
        f"{_escape(name)}: **{graded.points} of {graded.max_points} points**",
        "| exercise | points | max points | result |\n|---|---|---|---|",
    ]
    lines[-1] += "".join(
        f"\n| {mark.exercise} | {mark.points if mark.status.has_points else ''} "
        f"| {mark.max_points} | {_escape_with_code(mark.description)} |"
        for mark in graded.marks
    )
    return "\n\n".join(lines)


def _escape_with_code(text: str) -> str:
    """Escape `text` for Markdown; text in backquotes becomes code."""
    return re.sub("&#96;(.+?)&#96;", r"<code>\1</code>", _escape(text))


def _escape(text: str) -> str:
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
            identity = graded.submission.identity
            folder = identity.root or file_name(graded.submission.student)
            name = f"{folder}/feedback.html"
            if identity.platform == "canvas":
                name = re.sub(r"\.[^/]*$", "", identity.root) + ".html"
            # On disk, a name may have bytes that are not UTF-8.
            name = name.encode("utf-8", "replace").decode()
            archive.writestr(name, (out / graded.page).read_bytes())
    file = out / FEEDBACK_ZIP
    write_atomically(file, content.getvalue())
    return file
