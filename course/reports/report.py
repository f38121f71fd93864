"""Collects what executed notebooks recorded and writes the report of a run: index.html."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import jinja2
import nbformat
from nbformat import NotebookNode

from course.authoring.stored_outputs import RESULT_TYPE
from course.execution.runner import PASSED, Outcome

# What a notebook records of its circumstances; everything else it records is a result.
RESERVED = ("device", "data_set", "provenance", "drawn")


@dataclass(frozen=True)
class Row:
    """One notebook of a run as the report shows it; texts are ready to be read."""

    outcome: Outcome
    title: str
    records: dict[str, object] = field(default_factory=dict)
    # Name of the notebook's HTML beside the report; empty when there is none.
    page: str = ""

    @property
    def passed(self) -> bool:
        """Whether every cell got through."""
        return self.outcome.status == PASSED

    @property
    def drawn(self) -> bool:
        """Whether the notebook worked on images that the program draws."""
        return bool(self.records.get("drawn"))

    @property
    def results(self) -> list[tuple[str, str]]:
        """Headline results: names and values, both as texts."""
        items = [(name, value) for name, value in self.records.items() if name not in RESERVED]
        return [(name.replace("_", " "), show_value(value)) for name, value in items]

    @property
    def failing_page(self) -> str:
        """Address of the failing cell in the notebook's HTML."""
        anchor = f"#cell-id={quote(self.outcome.cell_id)}" if self.outcome.cell_id else ""
        return quote(self.page) + anchor


@dataclass(frozen=True)
class Run:
    """A whole run: when it began, how long it took, with which parameters, and its rows."""

    begun: datetime
    seconds: float
    rows: list[Row]
    parameters: list[tuple[str, str]] = field(default_factory=list)
    stopped: bool = False

    @property
    def drawn_names(self) -> list[str]:
        """Names of the notebooks that worked on drawn images."""
        return [row.outcome.job.name for row in self.rows if row.drawn]

    @property
    def summary(self) -> str:
        """One line that says how the run ended."""
        passed = sum(row.passed for row in self.rows)
        line = f"{passed} of {len(self.rows)} notebooks passed in {show_seconds(self.seconds)}"
        return f"{line}; stopped by hand" if self.stopped else line


def make_row(outcome: Outcome, page: str = "") -> Row:
    """The row of one notebook, from its outcome and from what it recorded until it ended."""
    if not outcome.job.output.exists():
        return Row(outcome, outcome.job.name, page=page)
    notebook = nbformat.read(outcome.job.output, as_version=4)
    title = notebook.metadata.get("title", outcome.job.name)
    return Row(outcome, title, collect_records(notebook), page)


def collect_records(notebook: NotebookNode) -> dict[str, object]:
    """Everything that `lesson.report` left in the outputs; a later value replaces an earlier."""
    records: dict[str, object] = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            record = output.get("data", {}).get(RESULT_TYPE, {})
            # Kernels send it as JSON; some tools store that as a text.
            records.update(json.loads(record) if isinstance(record, str) else record)
    return records


def write_report(run: Run, folder: Path) -> Path:
    """Write `index.html`, which needs no other file and no network, and `results.json`."""
    page = folder / "index.html"
    text = page_environment().get_template("index.html.j2").render(run=run)
    page.write_text(text, encoding="utf-8")
    table = {
        "begun": run.begun.isoformat(timespec="seconds"),
        "seconds": round(run.seconds, 1),
        "parameters": dict(run.parameters),
        "notebooks": [
            {
                "name": row.outcome.job.name,
                "status": row.outcome.status,
                "seconds": round(row.outcome.seconds, 1),
                "error": row.outcome.error or None,
                "records": row.records,
            }
            for row in run.rows
        ],
    }
    (folder / "results.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return page


def page_environment() -> jinja2.Environment:
    """Where the reports' templates are found; what they show is text and never HTML."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["seconds"] = show_seconds
    environment.filters["value"] = show_value
    return environment


def show_value(value: object) -> str:
    """A recorded value as a reader wants it: floats to four digits, long numbers in groups."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if 1000 <= abs(value) < float("inf") else f"{value:.4g}"
    return "none" if value is None else str(value)


def show_seconds(seconds: float) -> str:
    """A length of time in at most two units: `0.4 s`, `48 s`, `1 min 12 s`, `2 h 5 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def drawn_box(names: Iterable[str]) -> str:
    """The warning for a terminal that some notebooks did not work on real images."""
    lines = [
        "THE IMAGES ARE DRAWN BY THE PROGRAM. THEY ARE NOT CIFAR-10.",
        f"So in: {', '.join(names)}.",
        "Their accuracies say nothing about CIFAR-10. To use the real images, say where they are:",
        "CIFAR10_ROOT=/path/to/cifar-10-python.tar.gz make course",
    ]
    width = max(map(len, lines))
    edge = "#" * (width + 8)
    return "\n".join(["", edge, *(f"##  {line:<{width}}  ##" for line in lines), edge, ""])
