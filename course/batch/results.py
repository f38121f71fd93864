"""The results of a batch as a table: one row a run, as CSV and as Parquet."""

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
from course.reports.report import RESERVED

# What a record holds and a row repeats, in the order of the columns.
_FIRST = ("run", "id", "notebook", "status")
_LAST = ("seconds", "begun", "attempts", "error", "failing_cell", "failing_code", "host", "gpu")

Row = dict[str, Any]


def make_rows(records: Iterable[dict[str, Any]]) -> list[Row]:
    """One row a record, all with the same columns; what a run does not have is None.

    A parameter `lr` becomes the column `parameter.lr`, a result `accuracy` `result.accuracy`, and
    a version of torch `version.torch`, so that none hides another of the same name.
    """
    records = list(records)
    parameters = _names(record["parameters"] for record in records)
    results = [name for name in _names(r["records"] for r in records) if name not in RESERVED]
    versions = _names(record["versions"] for record in records)
    rows = []
    for record in records:
        noted = record["records"]
        row: Row = {name: record[name] for name in _FIRST}
        row |= {f"parameter.{name}": record["parameters"].get(name) for name in parameters}
        row |= {f"result.{name}": noted.get(name) for name in results}
        row |= {name: record[name] for name in _LAST}
        row |= {name: noted.get(name) for name in RESERVED}
        row |= {f"version.{name}": record["versions"].get(name) for name in versions}
        rows.append({name: None if value == "" else value for name, value in row.items()})
    return rows


def _names(tables: Iterable[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for table in tables for name in table))


def write_tables(rows: Sequence[Row], folder: Path) -> None:
    """Write `results.csv` and `results.parquet`, each whole or not at all.

    Raises:
        OSError: there is no room, for instance; the files of before are then untouched.
    """
    write_atomically(folder / "results.csv", as_csv(rows).encode())
    write_atomically(folder / "results.parquet", as_parquet(rows))


def as_csv(rows: Sequence[Row]) -> str:
    """The rows as CSV; lists and the like as JSON, None as an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if rows:
        writer.writerow(rows[0])
    for row in rows:
        writer.writerow(["" if value is None else _plain(value) for value in row.values()])
    return text.getvalue()


def as_parquet(rows: Sequence[Row]) -> bytes:
    """The rows as Parquet: a column is of numbers or truth values if all its values are."""
    names = list(rows[0]) if rows else list(_FIRST)
    columns = {name: _column([row[name] for row in rows]) for name in names}
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()


def _column(values: Sequence[object]) -> pyarrow.Array:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pyarrow.array(values, pyarrow.bool_())
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values if value is not None):
        return pyarrow.array(values, pyarrow.int64())
    if kinds and kinds <= {int, float}:
        floats = [None if value is None else float(value) for value in values]
        return pyarrow.array(floats, pyarrow.float64())
    texts = [None if value is None else str(_plain(value)) for value in values]
    return pyarrow.array(texts, pyarrow.string())


def _plain(value: object) -> object:
    return json.dumps(value) if isinstance(value, list | dict) else value
