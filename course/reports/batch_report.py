"""The page of a batch, `index.html`: failures, charts of the results, and a sortable table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from course.execution.jobs import Status
from course.execution.progress import format_seconds
from course.files import write_atomically
from course.reports.charts import Point, chart
from course.reports.entries import Entry, format_value, result_names
from course.reports.pages import file_link, page_environment

_MAX_CHARTS = 12
# Results whose names contain one of these strings measure warm-up time and get no chart.
_WARM_UP = ("making_ready", "warm_up", "warmup")


@dataclass(frozen=True)
class TableCell:
    """A cell of the table.

    Attributes:
        text: the text shown.
        key: the sort key.
        link: URL of a link on the text; empty for no link.
        kind: CSS class: `number`, `good` or `bad`; empty for none.
    """

    text: str
    key: str = ""
    link: str = ""
    kind: str = ""


def write_batch_report(
    entries: Sequence[Entry],
    folder: Path,
    *,
    title: str,
    fixed: Mapping[str, object],
    varied: Sequence[str],
    planned: int,
    is_running: bool,
    facts: Mapping[str, str],
) -> Path:
    """Write `index.html`, a self-contained page, and return its path.

    Args:
        entries: the runs that have ended, in the plan's order.
        folder: the batch's folder.
        title: title of the page.
        fixed: parameters that are the same in all runs.
        varied: names of the parameters that differ between the runs.
        planned: number of runs in the plan.
        is_running: whether the batch is still running.
        facts: torch version, machine, commit and command of the last start of the batch.

    Raises:
        OSError: the disk is full. The previous page is unchanged.
    """
    header, rows = make_table(entries, fixed)
    page = (
        page_environment()
        .get_template("batch.html.j2")
        .render(
            title=title,
            now=datetime.now().astimezone(),
            entries=entries,
            passed=sum(entry["status"] == Status.PASSED for entry in entries),
            failed=[entry for entry in entries if entry["status"] != Status.PASSED],
            noted=[entry for entry in entries if entry["note"]],
            planned=planned,
            is_running=is_running,
            fixed=fixed,
            synthetic=sum(bool(entry["reported"].get("synthetic")) for entry in entries),
            seconds=sum(entry["seconds"] for entry in entries),
            header=header,
            rows=rows,
            charts=make_charts(entries, varied),
            facts=_with_hosts(facts, entries),
        )
    )
    path = folder / "index.html"
    write_atomically(path, page)
    return path


def _with_hosts(facts: Mapping[str, str], entries: Sequence[Entry]) -> dict[str, str]:
    """Add the names of the machines if the runs were executed on several, as on a cluster."""
    hosts = sorted({entry["host"] for entry in entries if entry["host"]})
    return {**facts, **({"executed on": ", ".join(hosts)} if len(hosts) > 1 else {})}


def make_table(
    entries: Sequence[Entry], fixed: Mapping[str, object]
) -> tuple[list[str], list[list[TableCell]]]:
    """Return the table's header and rows, without the parameters that are the same in all runs."""
    names = dict.fromkeys(name for entry in entries for name in entry["parameters"])
    parameters = [name for name in names if name not in fixed]
    results = result_names(entries)
    has_several_notebooks = len({entry["notebook"] for entry in entries}) > 1
    has_devices = any(entry["reported"].get("device") for entry in entries)
    has_datasets = any(entry["reported"].get("dataset") for entry in entries)
    header = ["Run", "Status", *(["Notebook"] if has_several_notebooks else []), *parameters]
    header += [name.replace("_", " ") for name in results]
    header += ["Time", *(["Device"] if has_devices else []), *(["Images"] if has_datasets else [])]
    rows = []
    for number, entry in enumerate(entries, start=1):
        reported = entry["reported"]
        status = "good" if entry["status"] == Status.PASSED else "bad"
        row = [
            TableCell(str(number), str(number), file_link(entry["page"] or entry["file"])),
            TableCell(entry["status"], entry["status"], kind=status),
        ]
        if has_several_notebooks:
            row.append(_cell(entry["notebook"]))
        row += [_cell(entry["parameters"].get(name)) for name in parameters]
        row += [_cell(reported.get(name)) for name in results]
        row.append(
            TableCell(format_seconds(entry["seconds"]), repr(entry["seconds"]), kind="number")
        )
        if has_devices:
            row.append(_cell(reported.get("device")))
        if has_datasets:
            row.append(_cell(reported.get("dataset"), "bad" if reported.get("synthetic") else ""))
        rows.append(row)
    return header, rows


def make_charts(entries: Sequence[Entry], varied: Sequence[str]) -> list[str]:
    """Return an SVG chart of each numeric result against each parameter that varies."""
    passed = [entry for entry in entries if entry["status"] == Status.PASSED]
    varying = [
        name
        for name in varied
        if len({repr(entry["parameters"].get(name)) for entry in passed}) > 1
    ]
    # Plot results against the seed only if no other parameter varies.
    axes = [name for name in varying if name != "seed"] or varying
    charts = []
    for result in result_names(passed):
        if any(part in result for part in _WARM_UP):
            continue
        for axis in axes:
            series = next((name for name in axes if name != axis), "")
            all_points = [_point(entry, result, axis, series) for entry in passed]
            points = [point for point in all_points if point is not None]
            if len({repr(point.x) for point in points}) > 1:
                charts.append(chart(points, axis, _with_unit(result), series))
    return charts[:_MAX_CHARTS]


def _point(entry: Entry, result: str, axis: str, series: str) -> Point | None:
    """Return the point of a run; None if x or y is missing or not finite."""
    x, y = entry["parameters"].get(axis), entry["reported"].get(result)
    if not _is_number(y) or not math.isfinite(y):
        return None
    if x is None or (isinstance(x, float) and not math.isfinite(x)):
        return None
    name = format_value(entry["parameters"].get(series)) if series else ""
    return Point(x if isinstance(x, int | float | str) else str(x), float(y), name)


def _with_unit(result: str) -> str:
    """Put the unit in parentheses: `training_seconds` becomes `training (seconds)`."""
    words = result.split("_")
    if len(words) > 1 and words[-1] in ("seconds", "milliseconds", "bytes"):
        return f"{' '.join(words[:-1])} ({words[-1]})"
    return " ".join(words)


def _cell(value: object, kind: str = "") -> TableCell:
    if value is None:
        return TableCell("", kind=kind)
    if _is_number(value):
        # The page's script sorts a column numerically if all of its keys are numbers.
        return TableCell(format_value(value), repr(value), kind=kind or "number")
    return TableCell(format_value(value), str(value), kind=kind)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
