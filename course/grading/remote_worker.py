"""The grader's side of a worker in a sandbox: sends one request at a time and reads the reply."""

from __future__ import annotations

import json
import os
import secrets
import select
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from course.grading.limits import SandboxLimits, Stop, StopReason
from course.grading.sandbox import Sandbox

_MODULE = "course.grading.worker"
# Time limit for starting Python and importing torch.
_START_SECONDS = 120.0
_POLL_SECONDS = 0.1
# If a request gets less than 1/50 of the wall time, the machine is too busy for grading.
_MAX_SLOWDOWN = 50


class Canceled(Exception):
    """The grading was canceled."""


class WorkerStopped(Exception):
    """The worker has exceeded a limit or has ended, for the reason `stop`.

    `was_idle` is whether it ended between two requests.
    """

    def __init__(self, stop: Stop, *, was_idle: bool = False) -> None:
        super().__init__(stop.text)
        self.stop = stop
        self.was_idle = was_idle


@dataclass
class TimeLimit:
    """A limit in seconds for several requests together, and how much of it they have used."""

    seconds: float
    used: float = 0.0


class RemoteWorker:
    """A worker in a sandbox.

    Args:
        lab: the name of the lab's checks, such as "lab_01".
        limits: the resource limits.
        cancel: an event that ends the current request.
        isolated: whether to use bubblewrap if it is available.

    `total` is the time limit for the student's code, which requests count to once it is set.
    """

    def __init__(
        self, lab: str, limits: SandboxLimits, cancel: threading.Event, *, isolated: bool
    ) -> None:
        self.has_foreign_messages = False
        self.total: TimeLimit | None = None
        self._limits, self._cancel = limits, cancel
        self._secret = secrets.token_hex(32)
        self._count = self._bytes_read = 0
        self._sandbox = Sandbox(_MODULE, limits, isolated=isolated)
        self._lines = _read_lines(self._sandbox)
        self.isolated = self._sandbox.isolated
        self._first_request = {"secret": self._secret, "lab": lab, "isolated": self.isolated}

    @property
    def last_error(self) -> str:
        """The last line on the worker's stderr; "" if it is empty."""
        return self._sandbox.last_error

    def start(self) -> None:
        """Wait for the worker to start. Raises what `request` raises."""
        self.request("start", TimeLimit(_START_SECONDS), **self._first_request)

    def request(self, do: str, limit: TimeLimit, **fields: Any) -> dict[str, Any]:
        """Send a request and return the reply, which the student's code may have forged.

        Any other line of output is ignored, and sets `has_foreign_messages`.

        Raises:
            WorkerStopped: a limit was exceeded, or the worker has ended.
            Canceled: `cancel` was set.
        """
        if self._sandbox.process.poll() is not None:
            raise WorkerStopped(self._sandbox.exit_reason(), was_idle=True)
        self._count += 1
        start, wall_start = self._sandbox.seconds(), time.monotonic()

        def exceeded_limit() -> Stop | None:
            if self._cancel.is_set():
                raise Canceled
            elapsed = self._sandbox.seconds() - start
            if self.total is not None and self.total.used + elapsed > self.total.seconds:
                return Stop(StopReason.TIME, "used the time for the whole lab")
            if limit.used + elapsed > limit.seconds:
                text = f"took more than {limit.seconds:g} seconds and could not be stopped"
                return Stop(StopReason.TIME, text)
            if time.monotonic() - wall_start > _MAX_SLOWDOWN * limit.seconds:
                return Stop(StopReason.BUSY, "got too little CPU time on this busy machine")
            return self._sandbox.exceeded_limit()

        try:
            message = {"do": do, "id": self._count, **fields}
            if stop := self._sandbox.send(message, exceeded_limit):
                raise WorkerStopped(stop)
            for line in self._lines:
                if line is None:
                    if stop := exceeded_limit():
                        raise WorkerStopped(stop)
                    continue
                if isinstance(line, int) or self._is_too_much(do, line):
                    text = "printed more than the output limit"
                    raise WorkerStopped(Stop(StopReason.OUTPUT, text))
                if (reply := self._read_reply(line)) is not None:
                    return reply
                self.has_foreign_messages = True
            raise WorkerStopped(self._sandbox.exit_reason())
        finally:
            elapsed = self._sandbox.seconds() - start
            limit.used += elapsed
            if self.total is not None:
                self.total.used += elapsed

    def _is_too_much(self, do: str, line: bytes) -> bool:
        """Return whether the outputs of all cells, which the grader keeps, exceed the limit."""
        self._bytes_read += len(line) if do == "run" else 0
        return self._bytes_read > self._limits.max_output_bytes

    def _read_reply(self, line: bytes) -> dict[str, Any] | None:
        """Return the reply to the current request; None if the line is something else."""
        secret, _, text = line.partition(b" ")
        if not secrets.compare_digest(secret, self._secret.encode()):
            return None
        try:
            reply = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return reply if isinstance(reply, dict) and reply.get("id") == self._count else None

    def close(self) -> None:
        """Kill every process in the sandbox."""
        self._sandbox.close()


def _read_lines(sandbox: Sandbox) -> Iterator[bytes | int | None]:
    """Yield lines from a sandbox, and None at least every 0.1 s so that limits can be checked.

    If a line is too long, yield the number of bytes read so far and stop.
    """
    channel = sandbox.process.stdout.fileno()
    chunks: list[bytes] = []
    total = 0
    last_check = time.monotonic()
    while True:
        ready, _, _ = select.select([channel], [], [], _POLL_SECONDS)
        if not ready or time.monotonic() - last_check > _POLL_SECONDS:
            last_check = time.monotonic()
            yield None
        if not ready:
            continue
        if not (chunk := os.read(channel, 1 << 16)):
            return
        *lines, remainder = chunk.split(b"\n")
        total += len(chunk)
        if total > sandbox.limits.max_output_bytes:
            yield total
            return
        if lines:
            total = len(remainder)
            yield b"".join([*chunks, lines[0]])
            yield from lines[1:]
            chunks = []
        chunks.append(remainder)
