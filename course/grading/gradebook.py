"""What a grading leaves behind: the gradebook, a page for each student, one for the class."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import jinja2
import nbformat
from markupsafe import Markup, escape
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course.files import write_atomically
from course.grading.marking import NOT_JUDGED, PASSED, Mark, Marked
from course.reports.pages import write_page

COLUMNS = (
    "student", "lab", "exercise", "points", "of", "status", "message", "hint", "file", "notes",
)  # fmt: skip
_TEMPLATES = Path(__file__).parents[1] / "reports" / "templates"


def write_gradebook(marked: Sequence[Marked], lab: str, folder: Path) -> Path:
    """Write `gradebook.csv`: a row for each student and exercise, whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in marked:
        about = one.submission.path, "; ".join(one.notes)
        for mark in one.marks:
            # No number where there is no judgement: a 0 would be taken for one.
            points = "" if mark.status == NOT_JUDGED else mark.points
            row = [one.submission.student, lab, mark.exercise, points, mark.of, mark.status]
            writer.writerow(map(_harmless, [*row, mark.message, mark.hint or "", *about]))
    file = folder / "gradebook.csv"
    # With the mark by which Excel knows UTF-8.
    write_atomically(file, text.getvalue().encode("utf-8-sig"))
    return file


def _harmless(value: object) -> object:
    """A text that a spreadsheet does not take for a formula."""
    risky = isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r")
    return f"'{value}" if risky else value


def write_feedback(marked: Marked, title: str, folder: Path) -> Path | None:
    """Write `feedback/STUDENT.html`: the marks, then the lab as it ran; None if nothing ran.

    Of what the student's code showed only text and pictures are kept: the page is safe to open.
    """
    if not marked.ran:
        return None
    cells = [new_markdown_cell(_marks_as_table(marked, title))]
    for cell, found in marked.ran:
        if cell.kind == "text":
            cells.append(new_markdown_cell(cell.source))
            continue
        outputs = [_output(one) for one in found.get("outputs", [])]
        if found.get("error"):
            name, _, value = found["error"].partition(": ")
            trace = found.get("traceback", "") if cell.kind == "student" else ""
            outputs.append(
                new_output("error", ename=name, evalue=value, traceback=trace.splitlines())
            )
        cells.append(new_code_cell(cell.source, outputs=outputs))
    notebook = new_notebook(cells=cells, metadata={"title": title})
    notebook.metadata.kernelspec = {
        "display_name": "Python 3", "language": "python", "name": "python3",
    }  # fmt: skip
    folder = folder / "feedback"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{file_name(marked.submission.student)}.ipynb"
    nbformat.write(notebook, file)
    # A student gets this page alone, and nobody else's marks with it.
    return write_page(file, index="")


def file_name(student: str) -> str:
    """A student's name as a file can have it on any system."""
    plain = re.sub(r"[^\w.@ -]+", "_", student).strip(" .") or "unnamed"
    return plain[:100]


def _marks_as_table(marked: Marked, title: str) -> str:
    lines = [
        f"# {_text(title)}",
        f"{_text(marked.submission.student)}: **{marked.points} of {marked.of} points**",
        "| exercise | points | of | |\n|---|---|---|---|",
    ]
    lines[-1] += "".join(
        f"\n| {mark.exercise} | {mark.points} | {mark.of} | {_text(_said(mark))} |"
        for mark in marked.marks
    )
    return "\n\n".join(lines)


def _said(mark: Mark) -> str:
    return f"{mark.status}: {mark.message}" if mark.message else mark.status


def _text(text: str) -> str:
    """Words of a student's that Markdown shows as they are."""
    flat = " ".join(text.split())
    for sign in "\\`*_{}[]<>#|&":
        flat = flat.replace(sign, f"&#{ord(sign)};")
    return flat


def _output(found: dict[str, Any]) -> nbformat.NotebookNode:
    if "name" in found:
        return new_output("stream", name=found["name"], text=found["text"])
    return new_output("display_data", data=found["data"])


def write_class_page(
    marked: Sequence[Marked], lab: str, title: str, pages: dict[str, Path], folder: Path
) -> Path:
    """Write `index.html`: the class at a glance, what to teach again, and everybody's marks."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = _with_code
    exercises = sorted({mark.exercise for one in marked for mark in one.marks})
    links = {name: page.relative_to(folder).as_posix() for name, page in pages.items()}
    page = environment.get_template("grades.html.j2").render(
        title=title,
        lab=lab,
        now=datetime.now(),
        marked=marked,
        links=links,
        exercises=[_exercise(number, marked) for number in exercises],
        hints=commonest_hints(marked),
        open_box=any(one.ran and not one.shut for one in marked),
        unjudged=[one.submission.student for one in marked if not one.judged],
        points=[one.points for one in marked],
        PASSED=PASSED,
        NOT_JUDGED=NOT_JUDGED,
    )
    file = folder / "index.html"
    write_atomically(file, page.encode())
    return file


def _with_code(text: str) -> Markup:
    """A message as HTML, with what stands between backticks as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _exercise(number: int, marked: Sequence[Marked]) -> dict[str, Any]:
    marks = [mark for one in marked for mark in one.marks if mark.exercise == number]
    passed = sum(mark.status == PASSED for mark in marks)
    others = Counter(mark.status for mark in marks if mark.status != PASSED)
    return {
        "number": number,
        "of": marks[0].of,
        "passed": passed,
        "count": len(marks),
        "share": round(100 * passed / len(marks)),
        "others": others.most_common(),
    }


def commonest_hints(marked: Sequence[Marked], most: int = 12) -> list[dict[str, Any]]:
    """The hints that most of the class ended with: exercise, hint, how many, and its words."""
    found: dict[tuple[int, str], list[str]] = {}
    for one in marked:
        for mark in one.marks:
            if mark.hint and mark.status != PASSED:
                found.setdefault((mark.exercise, mark.hint), []).append(mark.message)
    ranked = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        {
            "exercise": e,
            "hint": h,
            "count": len(words),
            "words": Counter(words).most_common(1)[0][0],
        }
        for (e, h), words in ranked[:most]
        if h != "not-written"
    ]
