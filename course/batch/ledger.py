"""What a batch has done so far, on disk: one file a finished run, written whole or not at all.

The files are the truth; tables and pages are made from them. A batch that is started again reads
them and runs what is missing.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from course.course_folder import CourseError
from course.files import write_atomically

SCHEMA = 1


class Ledger:
    """The finished runs in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def finished(self) -> dict[str, dict[str, Any]]:
        """The records of all finished runs by their identity; what is no record is left out."""
        records = {}
        for file in sorted(self.folder.glob("[!.]*.json")):
            try:
                record = json.loads(file.read_text(encoding="utf-8"))
            except (ValueError, OSError):
                # Not written by us, or by a disk that failed: that run has to run again.
                continue
            if isinstance(record, dict) and record.get("schema") == SCHEMA:
                records[record["id"]] = record
        return records

    def write(self, record: dict[str, Any]) -> None:
        """Keep the record of a finished run.

        Raises:
            OSError: it cannot be written; nothing that was there before is touched.
        """
        text = json.dumps({"schema": SCHEMA, **record}, indent=1, default=str)
        write_atomically(self.folder / f"{record['id']}.json", text.encode() + b"\n")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for one batch; the system lets go of it however the batch ends.

        Raises:
            CourseError: another batch is at work in this folder.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("a+") as file:
            try:
                _lock(file.fileno())
            except OSError:
                raise CourseError(
                    f"Another batch is at work in {self.folder.parent}. Wait for it, or name "
                    "another folder with --out."
                ) from None
            batch = self.folder.parent
            for folder in (self.folder, batch, batch / "notebooks"):
                for leftover in folder.glob(".*.partial"):
                    leftover.unlink()
            yield


def _lock(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
