"""The report of `course run`: index.html and results.json."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from course.execution.jobs import RunResult, Status
from course.execution.progress import show_seconds
from course.files import read_notebook, write_atomically
from course.reports.pages import page_environment
from course.reports.reported import CIRCUMSTANCES, collect_reported, show_value


@dataclass(frozen=True)
class LessonRow:
    """One notebook of a run as the report shows it.

    Attributes:
        result: how it ended.
        title: the notebook's title.
        reported: what it reported until it ended.
        page: name of the notebook's HTML page beside the report; empty if there is none.
    """

    result: RunResult
    title: str
    reported: dict[str, object] = field(default_factory=dict)
    page: str = ""

    @property
    def passed(self) -> bool:
        """Whether every cell passed."""
        return self.result.status == Status.PASSED

    @property
    def drawn(self) -> bool:
        """Whether the notebook used images that the program draws."""
        return bool(self.reported.get("drawn"))

    @property
    def results(self) -> list[tuple[str, str]]:
        """Names and values of the results, as text."""
        items = [(n, value) for n, value in self.reported.items() if n not in CIRCUMSTANCES]
        return [(name.replace("_", " "), show_value(value)) for name, value in items]

    @property
    def failing_page(self) -> str:
        """Link to the failing cell in the notebook's page."""
        anchor = f"#cell-id={quote(self.result.cell_id)}" if self.result.cell_id else ""
        return quote(self.page) + anchor


@dataclass(frozen=True)
class CourseRun:
    """A whole run: when it began, how long it took, its parameters and its notebooks.

    Attributes:
        facts: what the results depend on, by name: torch version, machine, commit, command.
        stopped: whether somebody stopped it.
    """

    begun: datetime
    seconds: float
    rows: list[LessonRow]
    parameters: list[tuple[str, str]] = field(default_factory=list)
    stopped: bool = False
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def drawn_names(self) -> list[str]:
        """Names of the notebooks that used drawn images."""
        return [row.result.job.name for row in self.rows if row.drawn]

    @property
    def summary(self) -> str:
        """One line on how the run ended."""
        passed = sum(row.passed for row in self.rows)
        line = f"{passed} of {len(self.rows)} notebooks passed in {show_seconds(self.seconds)}"
        return f"{line}; stopped before the end" if self.stopped else line


def make_row(result: RunResult, page: str = "") -> LessonRow:
    """The row of one notebook, from its result and from what it reported until it ended."""
    if not result.job.output.exists():
        return LessonRow(result, result.job.name, page=page)
    notebook = read_notebook(result.job.output)
    title = notebook.metadata.get("title", result.job.name)
    return LessonRow(result, title, collect_reported(notebook), page)


def write_report(run: CourseRun, folder: Path) -> Path:
    """Write `index.html`, which needs no other file and no network, and `results.json`."""
    page = folder / "index.html"
    write_atomically(page, page_environment().get_template("index.html.j2").render(run=run))
    table = {
        "begun": run.begun.isoformat(timespec="seconds"),
        "seconds": round(run.seconds, 1),
        "parameters": dict(run.parameters),
        **run.facts,
        "notebooks": [
            {
                "name": row.result.job.name,
                "status": row.result.status,
                "seconds": round(row.result.seconds, 1),
                "error": row.result.error or None,
                "note": row.result.note or None,
                "reported": row.reported,
            }
            for row in run.rows
        ],
    }
    write_atomically(folder / "results.json", json.dumps(table, indent=1) + "\n")
    return page
