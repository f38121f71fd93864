"""Collects what a process writes to stderr."""

from __future__ import annotations

import os
import tempfile


class ErrorOutput:
    """A file for the stderr of a process. It has no name, so a killed grader leaves no files.

    `descriptor` is the file descriptor to pass to the process.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self.descriptor = self._file.fileno()

    def last_line(self) -> str:
        """Return at most 300 characters of the last line that is not blank; "" if none."""
        # Use `pread`, because the process shares the position in the file.
        content = os.pread(self.descriptor, os.fstat(self.descriptor).st_size, 0)
        lines = content.decode("utf-8", errors="replace").split("\n")
        return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")

    def close(self) -> None:
        """Delete the file."""
        self._file.close()
