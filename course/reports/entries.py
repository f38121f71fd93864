"""An entry has the status of a run and what its notebook reported; a table, a row per entry."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from course.execution.jobs import RunResult, Status
from course.execution.progress import format_seconds
from course.files import write_atomically

Entry = dict[str, Any]

# MIME type of the values that `helpers.lesson.report` stores. Duplicated here, because importing
# `helpers.lesson` would import torch.
RESULT_TYPE = "application/vnd.gpu-course.result+json"
# Keys reported by `lesson.start` and `lesson.show_data`. All other keys are results.
CONTEXT_KEYS = ("device", "dataset", "provenance", "synthetic")
_COLUMNS = (
    "run", "id", "notebook", "status", "seconds", "started", "attempts", "error", "failing_cell",
    "failing_code", "note", "host", "gpu",
)  # fmt: skip


def collect_reported(notebook: NotebookNode) -> dict[str, object]:
    """Return all values reported by a notebook. If a name occurs twice, the last value counts."""
    reported: dict[str, object] = {}
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        values = output.get("data", {}).get(RESULT_TYPE, {})
        # Kernels send JSON objects, but some tools store them as strings.
        reported.update(json.loads(values) if isinstance(values, str) else values)
    return reported


def make_entry(result: RunResult, executed: NotebookNode | None, **extra: object) -> Entry:
    """Return the entry of a run. `executed` is its notebook, or None if there is none."""
    name = result.job.name
    same = ("attempts", "error", "gpu", "host", "note", "started", "versions")
    return {
        **{key: getattr(result, key) for key in same},
        "notebook": name,
        "title": name if executed is None else executed.metadata.get("title", name),
        "status": str(result.status),
        "seconds": round(result.seconds, 2),
        # Readers count cells from 1.
        "failing_cell": None if result.cell is None else result.cell + 1,
        "failing_cell_id": result.cell_id,
        "failing_code": result.source,
        "reported": {} if executed is None else collect_reported(executed),
        "file": "",
        "page": "",
        **extra,
    }


def result_names(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of all reported results, in order of appearance."""
    names = dict.fromkeys(name for entry in entries for name in entry["reported"])
    return [name for name in names if name not in CONTEXT_KEYS]


def format_value(value: object) -> str:
    """Format a value: floats with four significant digits, large numbers with separators."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if 1000 <= abs(value) < float("inf") else f"{value:.4g}"
    return "none" if value is None else str(value)


def result_line(entry: Entry) -> str:
    """Format an ended run as one line: name, status, time, and results or error."""
    seconds, reported = format_seconds(entry["seconds"]), entry["reported"]
    parts = [f"{entry['run']:<28}  {entry['status']:<11}  {seconds:>10}"]
    if entry["status"] == Status.PASSED:
        parts.append(str(reported.get("device", "")))
        names = result_names([entry])[:3]
        parts += [f"{name.replace('_', ' ')} {format_value(reported[name])}" for name in names]
    elif entry["error"]:
        cell = f"cell {entry['failing_cell']}: " if entry["failing_cell"] else ""
        parts.append(cell + entry["error"].splitlines()[0])
    return "  ".join(filter(None, [*parts, entry["note"]]))


def synthetic_box(names: Iterable[str]) -> str:
    """Return the terminal warning that some notebooks did not use real images."""
    lines = [
        "THE IMAGES ARE SYNTHETIC. THEY ARE NOT CIFAR-10.",
        f"This applies to: {', '.join(names)}.",
        "Their accuracies do not apply to CIFAR-10. To use the real images, set their path:",
        "CIFAR10_ROOT=/path/to/cifar-10-python.tar.gz make course",
    ]
    width = max(map(len, lines))
    edge = "#" * (width + 8)
    return "\n".join(["", edge, *(f"##  {line:<{width}}  ##" for line in lines), edge, ""])


def make_columns(entries: Sequence[Entry]) -> dict[str, list[object]]:
    """Return the columns of the table, with a value per entry; a missing value is None.

    Columns have a prefix to avoid name collisions: `parameter.lr`, `result.accuracy`,
    `version.torch`. Lists and dictionaries become JSON.
    """
    parameters, versions = (
        dict.fromkeys(name for entry in entries for name in entry[key])
        for key in ("parameters", "versions")
    )
    columns: dict[str, list[object]] = {}
    for key, prefix, names in (
        (None, "", _COLUMNS),
        ("parameters", "parameter.", parameters),
        ("reported", "result.", result_names(entries)),
        ("reported", "", CONTEXT_KEYS),
        ("versions", "version.", versions),
    ):
        for name in names:
            values = [(entry[key] if key else entry).get(name) for entry in entries]
            texts = [json.dumps(v) if isinstance(v, list | dict) else v for v in values]
            columns[prefix + name] = [None if text == "" else text for text in texts]
    return columns


def write_tables(entries: Sequence[Entry], folder: Path) -> None:
    """Write `results.csv` and `results.parquet`, where columns of mixed types are strings."""
    # Imported here because grading, which uses this module too, does not need it.
    import pyarrow
    import pyarrow.parquet

    table, typed = make_columns(entries), {}
    for name, values in table.items():
        try:
            column = pyarrow.array(values)
        except (pyarrow.ArrowException, OverflowError):
            # The values have several types, or an integer has more than 64 bits.
            column = pyarrow.array([None if value is None else str(value) for value in values])
        is_null = pyarrow.types.is_null(column.type)
        typed[name] = column.cast(pyarrow.string()) if is_null else column
    text, parquet = io.StringIO(), io.BytesIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([list(table), *zip(*table.values(), strict=True)])
    pyarrow.parquet.write_table(pyarrow.table(typed), parquet)
    write_atomically(folder / "results.csv", text.getvalue())
    write_atomically(folder / "results.parquet", parquet.getvalue())
