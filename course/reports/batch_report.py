"""The page of a batch, `index.html`: runs as a sortable table, failures, and plots of results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from course.batch.plan import Plan
from course.execution.runner import PASSED
from course.files import write_atomically
from course.reports.charts import Point, chart
from course.reports.report import RESERVED, page_environment, show_seconds, show_value

_MOST_CHARTS = 12

Record = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """A cell of the table: the text, and what it is sorted by."""

    text: str
    key: str = ""
    link: str = ""
    kind: str = ""


def write_batch_report(
    records: Sequence[Record], plan: Plan, folder: Path, planned: int, under_way: bool
) -> Path:
    """Write `index.html`, which needs no other file and no network.

    Args:
        records: of the runs that have ended, in the plan's order.
        plan: what the batch runs.
        folder: the batch's folder.
        planned: how many runs the plan has.
        under_way: whether the rest is still to come.

    Raises:
        OSError: there is no room; the page of before is then untouched.
    """
    drawn = [record for record in records if record["records"].get("drawn")]
    header, rows = table_of(records, plan)
    page = (
        page_environment()
        .get_template("batch.html.j2")
        .render(
            title=title_of(plan),
            now=datetime.now().astimezone(),
            records=records,
            passed=sum(record["status"] == PASSED for record in records),
            failed=[record for record in records if record["status"] != PASSED],
            planned=planned,
            under_way=under_way,
            fixed=plan.parameters,
            drawn=len(drawn),
            seconds=sum(record["seconds"] for record in records),
            header=header,
            rows=rows,
            charts=charts_of(records, plan),
            link=failing_link,
        )
    )
    path = folder / "index.html"
    write_atomically(path, page.encode())
    return path


def title_of(plan: Plan) -> str:
    """What the batch is about, in one line."""
    names = [Path(name).stem for name in plan.notebooks]
    what = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"{what} over {', '.join(plan.varied)}" if plan.varied else what


def failing_link(record: Record) -> str:
    """Where the failing cell is shown: in the run's page, or else the notebook."""
    if not record["page"]:
        return _address(record["file"])
    anchor = record["failing_cell_id"]
    return quote(record["page"]) + (f"#cell-id={quote(anchor)}" if anchor else "")


def table_of(records: Sequence[Record], plan: Plan) -> tuple[list[str], list[list[Cell]]]:
    """The table's header and rows; only what differs, or was recorded, has a column."""
    given = _names(record["parameters"] for record in records)
    # What all runs have in common stands above the table.
    parameters = [name for name in given if name not in plan.parameters]
    results = [name for name in _names(r["records"] for r in records) if name not in RESERVED]
    several = len({record["notebook"] for record in records}) > 1
    devices = _several(records, "device")
    data_sets = _several(records, "data_set")
    header = ["Run", "Status", *(["Notebook"] if several else []), *parameters]
    header += [name.replace("_", " ") for name in results]
    header += ["Time", *(["Device"] if devices else []), *(["Images"] if data_sets else [])]
    rows = []
    for number, record in enumerate(records, start=1):
        noted = record["records"]
        link = quote(record["page"]) or _address(record["file"])
        good = record["status"] == PASSED
        row = [
            Cell(str(number), f"{number:09d}", link),
            Cell(record["status"], record["status"], kind="good" if good else "bad"),
        ]
        if several:
            row.append(_text(record["notebook"]))
        row += [_value(record["parameters"].get(name)) for name in parameters]
        row += [_value(noted.get(name)) for name in results]
        row.append(Cell(show_seconds(record["seconds"]), _sort_key(record["seconds"])))
        if devices:
            row.append(_text(noted.get("device")))
        if data_sets:
            kind = "bad" if noted.get("drawn") else ""
            row.append(Cell(str(noted.get("data_set", "")), str(noted.get("data_set")), kind=kind))
        rows.append(row)
    return header, rows


def charts_of(records: Sequence[Record], plan: Plan) -> list[str]:
    """Every recorded number, and the time, over every parameter that the plan varies."""
    passed = [record for record in records if record["status"] == PASSED]
    varied = [
        name
        for name in plan.varied
        if len({repr(record["parameters"].get(name)) for record in passed}) > 1
    ]
    # Seeds have no order; they are drawn only where nothing else varies.
    axes = [name for name in varied if name != "seed"] or varied
    results = [name for name in _names(r["records"] for r in passed) if name not in RESERVED]
    charts = []
    for result in [*results, "seconds"]:
        for axis in axes:
            others = [name for name in axes if name != axis]
            points = [_point(record, result, axis, others[:1]) for record in passed]
            drawable = [point for point in points if point is not None]
            if len({repr(point.x) for point in drawable}) > 1:
                y_name = "time in seconds" if result == "seconds" else result.replace("_", " ")
                charts.append(chart(drawable, axis, y_name, others[0] if others else ""))
    return charts[:_MOST_CHARTS]


def _point(record: Record, result: str, axis: str, others: Sequence[str]) -> Point | None:
    y = record["seconds"] if result == "seconds" else record["records"].get(result)
    x = record["parameters"].get(axis)
    if isinstance(y, bool) or not isinstance(y, int | float) or not math.isfinite(y):
        return None
    if x is None or (isinstance(x, float) and not math.isfinite(x)):
        return None
    series = show_value(record["parameters"].get(others[0])) if others else ""
    return Point(x if isinstance(x, int | float | str) else str(x), float(y), series)


def _names(tables: Any) -> list[str]:
    return list(dict.fromkeys(name for table in tables for name in table))


def _several(records: Sequence[Record], name: str) -> bool:
    return len({record["records"].get(name) for record in records} - {None}) > 0


def _address(file: str) -> str:
    return file if "://" in file else quote(file)


def _text(value: object) -> Cell:
    text = "" if value is None else str(value)
    return Cell(text, text)


def _value(value: object) -> Cell:
    if value is None:
        return Cell("")
    return Cell(show_value(value), _sort_key(value), kind="number" if _is_number(value) else "")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _sort_key(value: object) -> str:
    """What the page's script compares: as numbers where all of a column are numbers."""
    return repr(value) if _is_number(value) else str(value)
