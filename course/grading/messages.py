"""Reads what the worker in a sandbox sends: lines of JSON, each with the secret of its run."""

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
from course.grading.sandbox import Sandbox

_TICK = 0.1


def read_lines(sandbox: Sandbox) -> Iterator[bytes | int | None]:
    """The lines that a sandbox sends; None at least every 0.1 s, so that limits can be checked.

    An `int` is the number of bytes if the sandbox sent more than it may.
    """
    channel = sandbox.process.stdout.fileno()
    rest, total = b"", 0
    checked = time.monotonic()
    while True:
        ready, _, _ = select.select([channel], [], [], _TICK)
        if not ready or time.monotonic() - checked > _TICK:
            checked = time.monotonic()
            yield None
        if not ready:
            continue
        part = os.read(channel, 1 << 16)
        if not part:
            return
        total += len(part)
        if total > sandbox.limits.answer:
            yield total
            return
        *lines, rest = (rest + part).split(b"\n")
        yield from lines


def read_message(line: bytes, secret: str, cells: Sequence[SubmittedCell]) -> dict[str, Any] | None:
    """The message on a line; None if the worker did not send it, or if it is malformed."""
    given, _, text = line.partition(b" ")
    if not secrets.compare_digest(given, secret.encode()):
        return None
    try:
        message = json.loads(text)
        return message if _is_well_formed(message, cells) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _is_well_formed(message: dict[str, Any], cells: Sequence[SubmittedCell]) -> bool:
    if message.get("end") is True:
        return True
    place = message["begin"] if "begin" in message else message["cell"]
    if type(place) is not int or not 0 <= place < len(cells):
        return False
    if "begin" in message:
        return isinstance(message["seconds"], int | float) and message["seconds"] >= 0
    texts = [message["error"], message["traceback"], message["stop"]]
    if cells[place].kind is CellKind.CHECK:
        texts += [message["message"], message["hint"] or ""]
        texts += [*message["restored"], *message["replaced"]]
        if type(message["passed"]) is not bool:
            return False
    for output in message["outputs"]:
        in_stream = "name" in output
        texts += [output["name"], output["text"]] if in_stream else output["data"].values()
    return message["stop"] in ("", *StopReason) and all(isinstance(text, str) for text in texts)
