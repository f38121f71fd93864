"""Reads messages from the worker in a sandbox: lines of JSON with the secret of the run."""

from __future__ import annotations

import json
import os
import secrets
import select
import time
from collections.abc import Iterator, Sequence
from typing import Any

from course.grading.answers import CellKind, SubmittedCell
from course.grading.limits import StopReason
from course.grading.outputs import MAX_ERROR, MAX_OUTPUTS, MAX_TEXT, safe_output
from course.grading.sandbox import Sandbox

_POLL_SECONDS = 0.1
# stdout, stderr, displayed outputs and values.
_MAX_CELL_OUTPUTS = 2 + 2 * MAX_OUTPUTS


def read_lines(sandbox: Sandbox) -> Iterator[bytes | int | None]:
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
        chunk = os.read(channel, 1 << 16)
        if not chunk:
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


def read_message(line: bytes, secret: str, cells: Sequence[SubmittedCell]) -> dict[str, Any] | None:
    """Parse a line; return None if it has the wrong secret or is malformed."""
    line_secret, _, text = line.partition(b" ")
    if not secrets.compare_digest(line_secret, secret.encode()):
        return None
    try:
        message = json.loads(text)
        if not _is_well_formed(message, cells):
            return None
        if "cell" in message:
            # The student's code could forge messages with unsafe outputs.
            outputs = map(_sanitize, message["outputs"][:_MAX_CELL_OUTPUTS])
            message["outputs"] = [output for output in outputs if output.get("data") != {}]
            message["error"] = message["error"][:MAX_ERROR]
            message["traceback"] = message["traceback"][:MAX_TEXT]
        return message
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, StopIteration):
        return None


def _is_well_formed(message: dict[str, Any], cells: Sequence[SubmittedCell]) -> bool:
    if message.get("end") is True:
        return True
    if "reply" in message:
        return isinstance(message["reply"], dict)
    kind = next(kind for kind in ("begin", "check", "cell") if kind in message)
    index = message[kind]
    if type(index) is not int or not 0 <= index < len(cells):
        return False
    if (cells[index].kind is CellKind.CHECK) is not (kind == "check"):
        return False
    if kind == "check":
        return True
    if kind == "begin":
        return isinstance(message["seconds"], int | float) and message["seconds"] >= 0
    texts = [message["error"], message["traceback"], message["stop"]]
    for output in message["outputs"]:
        in_stream = "name" in output
        texts += [output["name"], output["text"]] if in_stream else output["data"].values()
    return message["stop"] in ("", *StopReason) and all(isinstance(text, str) for text in texts)


def _sanitize(output: dict[str, Any]) -> dict[str, Any]:
    """Return the output without active content, which is not allowed in a feedback page."""
    if "name" in output:
        name = "stderr" if output["name"] == "stderr" else "stdout"
        # The worker adds a note to truncated text.
        return {"name": name, "text": output["text"][: 2 * MAX_TEXT]}
    return {"data": safe_output(output["data"])}
