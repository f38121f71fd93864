"""The results of a batch as a table with one row per run, as CSV and as Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from course.files import write_atomically
from course.reports.entries import CONTEXT_KEYS, Entry, result_names

_FIRST_COLUMNS = ("run", "id", "notebook", "status")
_LAST_COLUMNS = (
    "seconds", "started", "attempts", "error", "failing_cell", "failing_code", "note", "host",
    "gpu",
)  # fmt: skip

TableRow = dict[str, Any]


def make_rows(entries: Iterable[Entry]) -> list[TableRow]:
    """Return one row per entry, all with the same columns; a missing value is None.

    Columns have a prefix to avoid name collisions: `parameter.lr`, `result.accuracy`,
    `version.torch`.
    """
    entries = list(entries)
    parameters = _names(entry["parameters"] for entry in entries)
    results = result_names(entries)
    versions = _names(entry["versions"] for entry in entries)
    rows = []
    for entry in entries:
        reported = entry["reported"]
        row: TableRow = {name: entry[name] for name in _FIRST_COLUMNS}
        row |= {f"parameter.{name}": entry["parameters"].get(name) for name in parameters}
        row |= {f"result.{name}": reported.get(name) for name in results}
        row |= {name: entry[name] for name in _LAST_COLUMNS}
        row |= {name: reported.get(name) for name in CONTEXT_KEYS}
        row |= {f"version.{name}": entry["versions"].get(name) for name in versions}
        rows.append({name: None if value == "" else value for name, value in row.items()})
    return rows


def _names(tables: Iterable[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for table in tables for name in table))


def write_tables(rows: Sequence[TableRow], folder: Path) -> None:
    """Write `results.csv` and `results.parquet`.

    Raises:
        OSError: a file cannot be written, for example because the disk is full. The previous file
            is unchanged.
    """
    write_atomically(folder / "results.csv", as_csv(rows))
    write_atomically(folder / "results.parquet", as_parquet(rows))


def as_csv(rows: Sequence[TableRow]) -> str:
    """Return the rows as CSV. Lists and dictionaries become JSON; None becomes an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if rows:
        writer.writerow(rows[0])
    writer.writerows(map(_to_scalar, row.values()) for row in rows)
    return text.getvalue()


def as_parquet(rows: Sequence[TableRow]) -> bytes:
    """Return the rows as Parquet. A column with mixed types is stored as strings."""
    names = list(rows[0]) if rows else list(_FIRST_COLUMNS)
    columns = {name: _column([_to_scalar(row[name]) for row in rows]) for name in names}
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()


def _column(values: Sequence[object]) -> pyarrow.Array:
    try:
        column = pyarrow.array(values)
    except (pyarrow.ArrowException, OverflowError):
        # The values have several types, or an integer has more than 64 bits.
        column = pyarrow.array([None if value is None else str(value) for value in values])
    return column.cast(pyarrow.string()) if pyarrow.types.is_null(column.type) else column


def _to_scalar(value: object) -> object:
    return json.dumps(value) if isinstance(value, list | dict) else value
