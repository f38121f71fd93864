"""The marks of the submissions, and what is written about them: tables, pages and feedback."""

import csv
import enum
import hashlib
import io
import json
import math
import re
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
from markupsafe import Markup, escape
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course.course_folder import CourseError
from course.execution.provenance import helpers_digest
from course.files import write_atomically
from course.grading.answers import CellKind, SubmittedCell
from course.grading.limits import SandboxLimits, StopReason
from course.grading.submissions import Submission, file_name
from course.reports.pages import page_environment, write_page

FEEDBACK_ZIP = "feedback.zip"
# Images attached to a text cell, such as the Colab badge. The page shows their alt text instead.
_ATTACHED_IMAGE = re.compile(r"!\[([^\]]*)\]\(attachment:[^)]*\)")
# The first characters of a formula. The last four are full-width =, +, - and @, which spreadsheets
# in East Asian locales treat like ASCII.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_Rows = list[dict[str, object]]
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

    A result is reused if the submission, the lab, the limits and the code that judges, which
    includes all of `helpers` and `simulated_cuda`, are unchanged.
    """

    def __init__(self, out: Path, original: Path, limits: SandboxLimits, isolated: bool) -> None:
        self._folder = out / "graded"
        files = (original, *sorted(Path(__file__).parent.glob("*.py")))
        parts = [repr((limits, isolated, helpers_digest())).encode()]
        parts += [file.read_bytes() for file in files]
        self._base = hashlib.sha256(b"\0".join(parts)).hexdigest()

    def _file(self, submission: Submission) -> Path:
        return self._folder / f"{file_name(submission.student)}.json"

    def _key(self, submission: Submission) -> str:
        text = json.dumps([self._base, submission.digest, submission.problem, submission.others])
        return hashlib.sha256(text.encode()).hexdigest()

    def load(self, submission: Submission) -> GradedSubmission | None:
        """Return the stored result of an unchanged submission; None if there is none."""
        try:
            data = json.loads(self._file(submission).read_text(encoding="utf-8"))
            if data.pop("key") != self._key(submission):
                return None
            for mark in data["marks"]:
                mark["status"] = MarkStatus(mark["status"])
                mark["stop"] = StopReason(mark["stop"]) if mark["stop"] else None
            data["marks"] = [Mark(**mark) for mark in data["marks"]]
            return GradedSubmission(submission, **data)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, graded: GradedSubmission) -> None:
        """Store a final result."""
        data = {"key": self._key(graded.submission), "marks": [*map(asdict, graded.marks)]}
        data |= {"notes": graded.notes, "isolated": graded.isolated}
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

    Moodle ignores empty grades, does not overwrite a grade that was changed after the time in the
    file, and reads comments from the column named after the feedback type
    (mod/assign/feedback/offline/importgradeslib.php).
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
    # Text in backticks becomes code.
    environment.filters["code"] = lambda text: Markup(
        re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    )
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


def _most_common_hints(submissions: Sequence[GradedSubmission]) -> list[tuple[Any, ...]]:
    """Return the 12 most common hints: exercise, id, number of students, and message."""
    messages: dict[tuple[int, str], Counter[str]] = {}
    for mark in (mark for graded in submissions for mark in graded.marks):
        if mark.hint not in (None, "", "not-written"):
            messages.setdefault((mark.exercise, mark.hint), Counter())[mark.message] += 1
    ranked = sorted(messages.items(), key=lambda item: (-item[1].total(), item[0]))[:12]
    return [(*key, texts.total(), texts.most_common(1)[0][0]) for key, texts in ranked]


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
        # The page leaves out a setup cell without outputs.
        setup = {"jupyter": {"source_hidden": True}, "tags": ["bootstrap"]}
        metadata = setup if cell.collapsed else {}
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
    """Write `feedback.zip` with the names that Moodle's and Canvas's uploads expect."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for graded in filter(lambda graded: graded.page, submissions):
            identity = graded.submission.identity
            root = identity.root or file_name(graded.submission.student)
            name = f"{root}/feedback.html"
            if identity.platform == "canvas":
                name = re.sub(r"\.[^/]*$", "", root) + ".html"
            # On disk, a name may have bytes that are not UTF-8.
            name = name.encode("utf-8", "replace").decode()
            archive.writestr(name, (out / graded.page).read_bytes())
    write_atomically(out / FEEDBACK_ZIP, content.getvalue())
    return out / FEEDBACK_ZIP
