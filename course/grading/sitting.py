"""Runs one submission in its box, as often as it takes to judge every exercise.

A cell that kills the process, or has to be killed, is left out when the submission runs again, so
one bad answer costs nobody the others. What ends before any of the student's code has run is no
fault of the student's, and is kept apart.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import select
import threading
import time
from collections.abc import Iterator
from typing import Any

from course.grading.box import Box, Limits
from course.grading.paper import Cell

_WORKER = "course.grading.worker"
_TICK = 0.1
# Starting Python and torch on a busy machine.
_START_SECONDS = 120.0
_ENDED = "ended the process"
# A verdict is there, and the next cells want a process in which nothing was stopped halfway.
_AFRESH = "is to begin afresh"
# How the reasons begin that a higher limit, or a less busy machine, would do away with.
OVER = ("took more than", "went over", "started more than")


class Broken(Exception):
    """The sitting was broken off, because the grading is to end."""


class Sitting:
    """One paper on its way through the box, and what came of its cells.

    `found` holds what each cell showed, by its place, and `judged` the verdict of each exercise.
    `ended` says how a cell ended the process, or why it was not judged. `fault`, if it is not "",
    says what kept this machine from running the paper at all.
    """

    def __init__(
        self, cells: list[Cell], limits: Limits, stop: threading.Event, *, shut: bool
    ) -> None:
        self.cells = cells
        self.limits = limits
        self.shut = shut
        self.found: dict[int, dict[str, Any]] = {}
        self.judged: dict[int, dict[str, Any]] = {}
        self.ended: dict[int, str] = {}
        self.notes: list[str] = []
        self.fault = ""
        self._stop = stop
        self._skip: set[int] = set()
        # Whether any of the student's code has begun, in the run that is under way.
        self._theirs = False

    def run(self) -> None:
        """Run the cells until all are through, leaving out more of them each time.

        Raises:
            Broken: soon after `stop` was set.
        """
        deadline = time.monotonic() + self.limits.seconds
        failed = faults = 0
        while True:
            place, reason = self._run_once(deadline)
            if not reason:
                self.fault = ""
                return
            if time.monotonic() > deadline:
                self._give_up(f"the whole lab took more than {self.limits.seconds:g} seconds")
                return
            if reason == _AFRESH:
                continue
            if not self._theirs:
                # Once may be chance, on a machine that is short of something.
                faults += 1
                if faults == 2:
                    return
            elif place is None:
                # It ended between two cells.
                failed += 1
                if failed == 2:
                    self._give_up(f"the code before it {reason}")
                    return
            else:
                self._skip.add(place)
                self.ended[place] = reason
                self.found.setdefault(place, {"error": f"stopped: it {reason}", "outputs": []})

    def _give_up(self, reason: str) -> None:
        self.fault = ""
        for place, cell in enumerate(self.cells):
            if cell.kind == "check" and cell.exercise not in self.judged:
                self.ended[place] = f"was not judged: {reason}"

    def _run_once(self, deadline: float) -> tuple[int | None, str]:
        """Run what is left; the cell at which it ended before the end, and how it ended."""
        self._theirs = False
        box = Box(_WORKER, self.limits, shut=self.shut)
        self.shut = box.shut
        try:
            place, reason = self._follow(box, deadline)
            if reason and not self._theirs:
                how = "its process ended" if reason == _ENDED else f"its process {reason}"
                said = f": {box.said}" if box.said else ""
                self.fault = f"{how} before any of the student's code could run{said}"
            return place, reason
        finally:
            box.end()

    def _follow(self, box: Box, deadline: float) -> tuple[int | None, str]:
        key = secrets.token_bytes(32)
        task = {
            "key": key.hex(),
            "cells": [cell.as_job() for cell in self.cells],
            "skip": sorted(self._skip),
            "judged": sorted(self.judged),
            "seconds": self.limits.cell_seconds,
            "walled": box.shut,
        }
        try:
            box.process.stdin.write(json.dumps(task).encode())
            box.process.stdin.close()
        except BrokenPipeError:
            return None, _ENDED
        # The cell's own limit is the worker's to keep; this one is for what it cannot stop.
        place, patience = None, _START_SECONDS
        until = time.monotonic() + patience
        for line in _lines(box):
            if time.monotonic() > deadline:
                return place, "went over the time for the whole lab"
            if line is None:
                if self._stop.is_set():
                    raise Broken
                if over := box.over_limit():
                    return place, over
                if time.monotonic() > until:
                    return place, f"took more than {patience:g} seconds and could not be stopped"
                continue
            if isinstance(line, int):
                return place, "said more than a notebook holds"
            message = _opened(line, key)
            if message is None:
                self._note("wrote into the channel of the verdicts")
                continue
            if message.get("end"):
                return None, ""
            if "begin" in message:
                place, patience = message["begin"], message["seconds"] + self.limits.grace
                self._theirs = self._theirs or self.cells[place].kind != "given"
            else:
                if message["error"] and not self._theirs:
                    return place, f"stopped at the lab's own cells ({message['error']})"
                place = message.pop("cell")
                self._keep(place, message)
                if message["stopped"]:
                    verdict = self.cells[place].kind == "check"
                    return (None, _AFRESH) if verdict else (place, message["stopped"])
                place, patience = None, self.limits.cell_seconds + self.limits.grace
            until = time.monotonic() + patience
        return place, _ENDED

    def _keep(self, place: int, found: dict[str, Any]) -> None:
        cell = self.cells[place]
        if cell.exercise in self.judged and place in self.found:
            # Run again for the sake of a later exercise: what was judged is what is shown.
            return
        self.found[place] = found
        if cell.kind == "check":
            self.judged.setdefault(cell.exercise, found)
            for name in {*found["mended"], *found["replaced"]}:
                self._note(f"replaced {name}, which was put back")

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _opened(line: bytes, key: bytes) -> dict[str, Any] | None:
    """The message of a line, if it is the worker's own."""
    sign, _, text = line.partition(b" ")
    if not hmac.compare_digest(sign, hmac.new(key, text, hashlib.sha256).hexdigest().encode()):
        return None
    return json.loads(text)


def _lines(box: Box) -> Iterator[bytes | int | None]:
    """The lines that come from a box; None for every moment in which none came.

    An `int` is the number of bytes when there were more than it may send.
    """
    channel = box.process.stdout.fileno()
    rest, total = b"", 0
    looked = time.monotonic()
    while True:
        ready, _, _ = select.select([channel], [], [], _TICK)
        if not ready or time.monotonic() - looked > _TICK:
            looked = time.monotonic()
            yield None
        if not ready:
            continue
        part = os.read(channel, 1 << 16)
        if not part:
            return
        total += len(part)
        if total > box.limits.answer:
            yield total
            return
        *lines, rest = (rest + part).split(b"\n")
        yield from lines
