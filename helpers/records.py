"""Reads what `benchmarks/` has recorded, so that a lesson can show figures of a GPU it lacks.

The records lie inside the package, so that they come along wherever it is fetched, as in Colab.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "recorded"


@dataclass(frozen=True)
class Record:
    """What one benchmark found on one device."""

    device: str  # as people call it: "NVIDIA H200", "x86_64 CPU, 2 cores"
    kind: str  # "cuda", "cpu", ...
    torch: str
    date: str
    figures: Mapping[str, Any]

    @property
    def origin(self) -> str:
        """Device, torch version and date, for a legend or a caption."""
        return f"{self.device}, torch {self.torch}, recorded {self.date}"


def read(name: str, results: Path | None = None) -> list[Record]:
    """Return the records of benchmark `name`, the newest first; none if there is no file.

    `results` is the folder to look in, that of the package if None.

    Raises:
        ValueError: the file is there and is no record.
    """
    path = (results or RESULTS) / f"{name}.json"
    if not path.exists():
        return []
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["records"]
        records = [Record(**entry) for entry in entries]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is no record of a benchmark: {error!r}. Record it anew."
        ) from error
    return sorted(records, key=lambda record: record.date, reverse=True)


def newest(name: str, kind: str, results: Path | None = None) -> Record | None:
    """Return the newest record of benchmark `name` on a device of `kind`, None if there is none."""
    return next((record for record in read(name, results) if record.kind == kind), None)
