"""Starts judge processes and exchanges messages with them."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import helpers
from course.grading.sandbox import ErrorOutput

_MODULE = "course.grading.judging"
_POLL_SECONDS = 0.1
# Maximum wall time for one step of a check. A step usually takes less than a second.
_MAX_STEP_SECONDS = 600.0


class JudgeFailed(Exception):
    """The judge process exited or timed out."""


class Canceled(Exception):
    """The grading was canceled."""


class Judge:
    """A process that judges one exercise at a time."""

    def __init__(self) -> None:
        course = str(Path(helpers.__file__).parents[1])
        self._errors = ErrorOutput()
        self._process = subprocess.Popen(
            [sys.executable, "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors.descriptor,
            env=os.environ | {"PYTHONPATH": course, "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
        self._chunks: list[bytes] = []
        self._is_judging = False

    @property
    def is_judging(self) -> bool:
        """Whether an exercise is in progress."""
        return self._is_judging

    def exchange(self, message: bytes, cancel: threading.Event) -> dict[str, Any]:
        """Send a line to the judge; return a request to the answer process, or a verdict.

        Raises:
            JudgeFailed: the judge did not respond.
            Canceled: `cancel` was set.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(message + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise JudgeFailed(self._exit_reason()) from None
        deadline = time.monotonic() + _MAX_STEP_SECONDS
        assert self._process.stdout is not None
        channel = self._process.stdout.fileno()
        while time.monotonic() < deadline:
            if cancel.is_set():
                raise Canceled
            if not select.select([channel], [], [], _POLL_SECONDS)[0]:
                continue
            chunk = os.read(channel, 1 << 20)
            if not chunk:
                raise JudgeFailed(self._exit_reason())
            self._chunks.append(chunk)
            if chunk.endswith(b"\n"):
                line, self._chunks = b"".join(self._chunks), []
                response = json.loads(line)
                self._is_judging = "verdict" not in response
                return response
        raise JudgeFailed("it took too long")

    def _exit_reason(self) -> str:
        return self._errors.last_line() or "it has ended"

    def close(self) -> None:
        """Terminate the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._errors.close()


class Judges:
    """A pool of judges. Idle judges are reused."""

    def __init__(self) -> None:
        self._idle: list[Judge] = []
        self._lock = threading.Lock()

    @contextmanager
    def borrow(self) -> Iterator[Judge]:
        """Provide a judge for the block; after an error, the judge is terminated."""
        with self._lock:
            judge = self._idle.pop() if self._idle else None
        judge = judge or Judge()
        try:
            yield judge
        except BaseException:
            judge.close()
            raise
        if judge.is_judging:
            judge.close()
            return
        with self._lock:
            self._idle.append(judge)

    def close(self) -> None:
        """Terminate all idle judges."""
        with self._lock:
            while self._idle:
                self._idle.pop().close()
