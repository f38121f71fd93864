"""The grader's side of a worker in a sandbox: sends one request at a time and reads the reply."""

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

# Time limit for starting Python and importing torch.
_START_SECONDS = 120.0
_POLL_SECONDS = 0.1
# If a request gets less than 1/50 of the wall time, the machine is too busy for grading.
_MAX_SLOWDOWN = 50


class Canceled(Exception):
    """The grading was canceled."""


@dataclass(eq=False)
class WorkerStopped(Exception):
    """The worker has exceeded a limit, or has ended; `was_idle`: between two requests."""

    stop: Stop
    was_idle: bool = False


@dataclass
class TimeLimit:
    """A limit in seconds for several requests together, and how much of it they have used."""

    seconds: float
    used: float = 0.0


class RemoteWorker:
    """A worker in a sandbox. Setting `cancel` ends the current request.

    `total` is the time limit for the student's code in all runs; None before the code starts.
    """

    def __init__(self, limits: SandboxLimits, cancel: threading.Event, *, isolated: bool) -> None:
        self.has_foreign_messages = False
        self.total: TimeLimit | None = None
        self.sandbox = Sandbox("course.grading.worker", limits, isolated=isolated)
        self._limits, self._cancel = limits, cancel
        self._secret = secrets.token_hex(32)
        self._count = self._bytes_read = 0
        self._unsent = memoryview(b"")
        self._lines = self._exchange()

    def start(self, lab: str) -> None:
        """Wait for the worker to start, with a lab such as "lab_01". Raises what `request` does."""
        fields = {"secret": self._secret, "lab": lab, "isolated": self.sandbox.isolated}
        self.request("start", TimeLimit(_START_SECONDS), **fields)

    def request(self, do: str, limit: TimeLimit, **fields: Any) -> dict[str, Any]:
        """Send a request and return the reply, which the student's code may have forged.

        Any other line of output is ignored, and sets `has_foreign_messages`.

        Raises:
            WorkerStopped: a limit was exceeded, or the worker has ended.
            Canceled: `cancel` was set.
        """
        sandbox, limits = self.sandbox, [limit, *filter(None, [self.total])]
        if sandbox.process.poll() is not None:
            raise WorkerStopped(sandbox.exit_reason(), was_idle=True)
        self._count += 1
        message = {"do": do, "id": self._count, **fields}
        self._unsent = memoryview(json.dumps(message).encode() + b"\n")
        start, wall_start = sandbox.seconds(), time.monotonic()
        stop = None
        try:
            for line in self._lines:
                if line is not None:
                    # The grader keeps the outputs of all cells.
                    self._bytes_read += len(line) if do == "run" else 0
                    if max(len(line), self._bytes_read) > self._limits.max_output_bytes:
                        text = "printed more than the output limit"
                        raise WorkerStopped(Stop(StopReason.OUTPUT, text))
                    if (reply := self._read_reply(line)) is not None:
                        return reply
                    self.has_foreign_messages = True
                    continue
                if self._cancel.is_set():
                    raise Canceled
                elapsed = sandbox.seconds() - start
                if late := [limit for limit in limits if limit.used + elapsed > limit.seconds]:
                    text = f"took more than {late[0].seconds:g} seconds and could not be stopped"
                    stop = Stop(StopReason.TIME, text)
                elif time.monotonic() - wall_start > _MAX_SLOWDOWN * limit.seconds:
                    stop = Stop(StopReason.BUSY, "got too little CPU time on this busy machine")
                if stop := stop or sandbox.exceeded_limit():
                    raise WorkerStopped(stop)
            raise WorkerStopped(sandbox.exit_reason())
        finally:
            elapsed = sandbox.seconds() - start
            for limit in limits:
                limit.used += elapsed

    def _exchange(self) -> Iterator[bytes | None]:
        """Send `_unsent`, and yield lines, and None at least every 0.1 s while waiting for one.

        A line that is longer than the limit is yielded before its end.
        """
        process = self.sandbox.process
        requests, replies = process.stdin.fileno(), process.stdout.fileno()
        chunks: list[bytes] = []
        size, last_check = 0, time.monotonic()
        while True:
            writers = [requests] if self._unsent else []
            readable, writable, _ = select.select([replies], writers, [], _POLL_SECONDS)
            if writable:
                # A pipe that is ready accepts PIPE_BUF bytes, so this never blocks.
                try:
                    count = os.write(requests, self._unsent[: select.PIPE_BUF])
                except BrokenPipeError:
                    return
                self._unsent = self._unsent[count:]
                continue
            if not readable or time.monotonic() - last_check > _POLL_SECONDS:
                last_check = time.monotonic()
                yield None
            if not readable:
                continue
            if not (chunk := os.read(replies, 1 << 16)):
                return
            chunks.append(chunk)
            size += len(chunk)
            if b"\n" in chunk or size > self._limits.max_output_bytes:
                *lines, rest = b"".join(chunks).split(b"\n")
                yield from lines or [rest]
                chunks, size = [rest], len(rest)

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
