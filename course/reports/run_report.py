"""The report of `course run`: index.html and results.json."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from course.execution.jobs import Status
from course.execution.progress import format_seconds
from course.files import write_atomically
from course.reports.entries import Entry
from course.reports.pages import page_environment


@dataclass(frozen=True)
class CourseRun:
    """A run of `course run`: its start time, duration, parameters and notebooks.

    Attributes:
        entries: one entry per notebook.
        stopped: whether the run was stopped early.
        facts: torch version, machine, commit and command.
    """

    started: datetime
    seconds: float
    entries: list[Entry]
    parameters: list[tuple[str, str]] = field(default_factory=list)
    stopped: bool = False
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def all_passed(self) -> bool:
        """Whether every cell of every notebook passed."""
        return all(entry["status"] == Status.PASSED for entry in self.entries)

    @property
    def synthetic_names(self) -> list[str]:
        """Names of the notebooks that used synthetic images."""
        return [entry["notebook"] for entry in self.entries if entry["reported"].get("synthetic")]

    @property
    def summary(self) -> str:
        """The result of the run in one line."""
        passed = sum(entry["status"] == Status.PASSED for entry in self.entries)
        line = f"{passed} of {len(self.entries)} notebooks passed in {format_seconds(self.seconds)}"
        return f"{line}; stopped before the end" if self.stopped else line


def write_report(run: CourseRun, folder: Path) -> Path:
    """Write `index.html`, a self-contained page, and `results.json`; return the page's path."""
    page = folder / "index.html"
    write_atomically(page, page_environment().get_template("index.html.j2").render(run=run))
    results = {
        "started": run.started.isoformat(timespec="seconds"),
        "seconds": round(run.seconds, 1),
        "parameters": dict(run.parameters),
        **run.facts,
        "notebooks": [
            {
                "name": entry["notebook"],
                "status": entry["status"],
                "seconds": round(entry["seconds"], 1),
                "error": entry["error"] or None,
                "note": entry["note"] or None,
                "reported": entry["reported"],
            }
            for entry in run.entries
        ],
    }
    write_atomically(folder / "results.json", json.dumps(results, indent=1) + "\n")
    return page
