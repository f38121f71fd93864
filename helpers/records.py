"""Read the measurements that `benchmarks/` recorded, and those on GPUs that others published.

The files are part of the package, so every copy of the course has them, including on Colab.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RECORDS = Path(__file__).resolve().parent / "recorded"
PUBLISHED = Path(__file__).resolve().parent / "published"


@dataclass(frozen=True)
class Record:
    """The results of one benchmark on one device."""

    device: str  # its name: "NVIDIA H200", "x86_64 CPU, 2 cores"
    kind: str  # "cuda", "cpu", ...
    torch: str
    date: str
    results: Mapping[str, Any]

    @property
    def origin(self) -> str:
        """Device, torch version and date, for a legend or a caption."""
        return f"{self.device}, torch {self.torch}, recorded {self.date}"


def read(name: str, folder: Path | None = None) -> list[Record]:
    """Return the records of a benchmark, newest first; an empty list if there is no file."""
    path = (folder or RECORDS) / f"{name}.json"
    if not path.exists():
        return []
    entries = json.loads(path.read_text(encoding="utf-8"))["records"]
    records = [Record(**entry) for entry in entries]
    return sorted(records, key=lambda record: record.date, reverse=True)


def latest(name: str, kind: str, folder: Path | None = None) -> Record | None:
    """Return the newest record of benchmark `name` on a device of `kind`, or None."""
    return next((record for record in read(name, folder) if record.kind == kind), None)


def published(name: str) -> dict[str, Any]:
    """Return measurements that others published, with "source", "url" and "license"."""
    return json.loads((PUBLISHED / f"{name}.json").read_text(encoding="utf-8"))
