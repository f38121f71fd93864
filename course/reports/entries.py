"""An entry contains the status of a run and the values reported by its notebook."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from nbformat import NotebookNode

from course.authoring.stored_outputs import RESULT_TYPE
from course.execution.jobs import RunResult

Entry = dict[str, Any]

# Keys reported by `lesson.start` and `lesson.show_data`. All other keys are results.
CONTEXT_KEYS = ("device", "dataset", "provenance", "synthetic")


def collect_reported(notebook: NotebookNode) -> dict[str, object]:
    """Return all values reported by a notebook. If a name occurs twice, the last value counts."""
    reported: dict[str, object] = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            values = output.get("data", {}).get(RESULT_TYPE, {})
            # Kernels send JSON objects, but some tools store them as strings.
            reported.update(json.loads(values) if isinstance(values, str) else values)
    return reported


def make_entry(result: RunResult, executed: NotebookNode | None, **extra: object) -> Entry:
    """Return the entry of a run. `executed` is its notebook, or None if there is none."""
    name = result.job.name
    return {
        "notebook": name,
        "title": name if executed is None else executed.metadata.get("title", name),
        "status": str(result.status),
        "seconds": round(result.seconds, 2),
        "started": result.started,
        "attempts": result.attempts,
        "error": result.error,
        "note": result.note,
        # Readers count cells from 1.
        "failing_cell": None if result.cell is None else result.cell + 1,
        "failing_cell_id": result.cell_id,
        "failing_code": result.source,
        "host": result.host,
        "gpu": result.gpu,
        "versions": result.versions,
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
