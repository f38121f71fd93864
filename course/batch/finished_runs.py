"""Stores the finished runs of a batch: one file per run, written atomically.

Tables and pages are generated from these files. When a batch is restarted, it executes only the
runs without a file.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from course.course_folder import CourseError
from course.files import PARTIAL_SUFFIX, write_atomically
from course.reports.entries import Entry

SCHEMA_VERSION = 3


class FinishedRuns:
    """The finished runs in the folder `state` of a batch."""

    def __init__(self, batch: Path) -> None:
        self._batch, self.folder = batch, batch / "state"

    def entries(self) -> dict[str, Entry]:
        """Return the entries of all finished runs, by run id; unreadable files are skipped."""
        entries = {}
        for file in sorted(self.folder.glob("[!.]*.json")):
            try:
                entry = json.loads(file.read_text(encoding="utf-8"))
            except (ValueError, OSError):
                # The file is corrupted, or another program wrote it. The run is executed again.
                continue
            if isinstance(entry, dict) and entry.get("schema") == SCHEMA_VERSION:
                entries[entry["id"]] = entry
        return entries

    def write(self, entry: Entry) -> None:
        """Save the entry of a finished run.

        Raises:
            OSError: the file cannot be written. An existing file is unchanged.
        """
        text = json.dumps({"schema": SCHEMA_VERSION, **entry}, indent=1, default=str)
        write_atomically(self.folder / f"{entry['id']}.json", text + "\n")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder during the block. The lock is released even if the process is killed.

        Raises:
            CourseError: another batch is running in this folder.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            lock = FileLock(self.folder / ".lock").acquire(timeout=0)
        except Timeout:
            raise CourseError(
                f"Another batch is running in {self._batch}. Wait for it to end, or choose "
                "another folder with --out."
            ) from None
        with lock:
            for folder in (self.folder, self._batch, self._batch / "notebooks"):
                for leftover in folder.glob(f".*{PARTIAL_SUFFIX}"):
                    leftover.unlink()
            yield
