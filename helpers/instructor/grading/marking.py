"""Runs one submission in its box, as often as it takes to judge every exercise, and says what for.

A cell that kills the process, or has to be killed, is left out when the submission runs again, so
one bad answer costs nobody the others.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import select
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from nbformat import NotebookNode

from helpers.instructor.grading.box import Box, Limits
from helpers.instructor.grading.paper import Cell, Paper, points_of, put_together
from helpers.instructor.grading.submissions import Submission

_WORKER = "helpers.instructor.grading.worker"
_TICK = 0.1
# Starting Python and torch on a busy machine.
_START_SECONDS = 120.0

PASSED, WRONG, NOT_WRITTEN = "passed", "wrong", "not written"
STOPPED, MISSING, UNREADABLE = "stopped", "missing", "unreadable"


@dataclass(frozen=True)
class Mark:
    """What one exercise got, and why."""

    exercise: int
    points: int
    of: int
    status: str
    message: str = ""
    hint: str | None = None


@dataclass
class Marked:
    """One submission with its marks, in the order of the exercises.

    `ran` holds the cells that were run, each with its outputs. `notes` are for the instructor:
    what was mended or looks odd.
    """

    submission: Submission
    marks: list[Mark]
    notes: list[str] = field(default_factory=list)
    ran: list[tuple[Cell, dict[str, Any]]] = field(default_factory=list)
    seconds: float = 0.0
    shut: bool = True

    @property
    def points(self) -> int:
        """The sum of its points."""
        return sum(mark.points for mark in self.marks)

    @property
    def of(self) -> int:
        """What there was to get."""
        return sum(mark.of for mark in self.marks)


def mark(
    original: NotebookNode, submission: Submission, limits: Limits, *, shut: bool = True
) -> Marked:
    """Judge every exercise of `submission`; never raises for anything a student can hand in."""
    points = points_of(original)
    if submission.notebook is None:
        marks = [Mark(n, 0, of, UNREADABLE, submission.problem) for n, of in points.items()]
        return Marked(submission, marks)
    paper = put_together(original, submission.notebook)
    if set(paper.missing) == set(points):
        problem = "none of this lab's exercises is in it"
        return Marked(submission, [Mark(n, 0, of, MISSING, problem) for n, of in points.items()])
    begun = time.monotonic()
    marking = _Marking(paper, limits, shut=shut)
    marking.run()
    notes = [*paper.notes, *marking.notes]
    if submission.others:
        notes.append(f"handed in beside it, and not looked at: {', '.join(submission.others)}")
    return Marked(
        submission,
        [marking.mark_of(number, of, missing=paper.missing) for number, of in points.items()],
        notes,
        [(cell, marking.found.get(place, {})) for place, cell in enumerate(paper.cells)],
        time.monotonic() - begun,
        marking.shut,
    )


class _Marking:
    """One paper on its way through the box."""

    def __init__(self, paper: Paper, limits: Limits, *, shut: bool) -> None:
        self.cells = paper.cells
        self.limits = limits
        self.shut = shut
        self.found: dict[int, dict[str, Any]] = {}
        self.judged: dict[int, dict[str, Any]] = {}
        self.skip: set[int] = set()
        self.ended: dict[int, str] = {}
        self.notes: list[str] = []

    def run(self) -> None:
        """Run the cells until all are through, leaving out more of them each time."""
        deadline = time.monotonic() + self.limits.seconds
        faults = 0
        while True:
            place, reason = self._run_once(deadline)
            if not reason:
                return
            if time.monotonic() > deadline:
                self._give_up(f"the whole lab took more than {self.limits.seconds:g} seconds")
                return
            if place is None:
                # It died between two cells, or before the first: once may be chance.
                faults += 1
                if faults == 2:
                    self._give_up(f"the process {reason} before a cell could be run")
                    return
                continue
            self.skip.add(place)
            self.ended[place] = reason
            self.found.setdefault(place, {"error": f"stopped: it {reason}", "outputs": []})

    def mark_of(self, number: int, of: int, *, missing: list[int]) -> Mark:
        """What exercise `number`, worth `of` points, has got."""
        answers = {n for n, c in enumerate(self.cells) if c.exercise == number}
        for place in sorted(answers & set(self.ended)):
            passed = self.judged.get(number, {}).get("passed", False)
            if not passed or self.cells[place].kind == "check":
                text = f"its code {self.ended[place]}"
                return Mark(number, 0, of, STOPPED, text)
        verdict = self.judged.get(number)
        if verdict is None:
            status = MISSING if number in missing else STOPPED
            return Mark(number, 0, of, status, "the exercise is not in the notebook")
        if verdict["replaced"]:
            text = f"the answer replaced {', '.join(verdict['replaced'])} while it was judged"
            return Mark(number, 0, of, WRONG, text, "replaced")
        if verdict["passed"]:
            return Mark(number, of, of, PASSED)
        if number in missing:
            return Mark(number, 0, of, MISSING, "the exercise is not in the notebook")
        status = NOT_WRITTEN if verdict["hint"] == "not-written" else WRONG
        message = verdict["message"]
        if verdict["hint"] is None:
            # The check had nothing to judge, because the answer's own cell had come to nothing.
            failed = [e for n in sorted(answers) if (e := self._error_in_answer(n))]
            message = failed[0] if failed else message
        return Mark(number, 0, of, status, message, verdict["hint"])

    def _error_in_answer(self, place: int) -> str:
        if self.cells[place].kind != "student":
            return ""
        error = self.found.get(place, {}).get("error", "")
        return f"the answer's cell stops with {error}" if error else ""

    def _give_up(self, reason: str) -> None:
        for place, cell in enumerate(self.cells):
            if cell.kind == "check" and cell.exercise not in self.judged:
                self.ended[place] = f"was not judged: {reason}"

    def _run_once(self, deadline: float) -> tuple[int | None, str]:
        """Run what is left; the cell at which it ended before the end, and how it ended."""
        box = Box(_WORKER, self.limits, shut=self.shut)
        self.shut = box.shut
        key = secrets.token_bytes(32)
        place: int | None = None
        try:
            task = {
                "key": key.hex(),
                "cells": [cell.as_job() for cell in self.cells],
                "skip": sorted(self.skip),
                "judged": sorted(self.judged),
                "seconds": self.limits.cell_seconds,
                "walled": box.shut,
            }
            box.process.stdin.write(json.dumps(task).encode())
            box.process.stdin.close()
            # The cell's own limit is the worker's to keep; this one is for what it cannot stop.
            patience = _START_SECONDS
            until = time.monotonic() + patience
            for line in _lines(box):
                if time.monotonic() > deadline:
                    return place, "went over the time for the whole lab"
                if line is None:
                    if over := box.over_limit():
                        return place, over
                    if time.monotonic() > until:
                        return (
                            place,
                            f"took more than {patience:g} seconds and could not be stopped",
                        )
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
                    place = message["begin"]
                    patience = self._patience(place)
                else:
                    self._keep(message.pop("cell"), message)
                    place = None
                until = time.monotonic() + patience
            return place, "ended the process"
        except BrokenPipeError:
            return place, "ended the process"
        finally:
            box.end()

    def _patience(self, place: int) -> float:
        # A check may take longer than a cell: it has a limit of its own.
        return self.limits.cell_seconds * (2 if self.cells[place].kind == "check" else 1) + 10

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
