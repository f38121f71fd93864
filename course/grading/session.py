"""Runs one submission in a sandbox until every exercise has a verdict.

If a cell ends the process or has to be stopped, the submission runs again without this cell, so
that one bad answer does not affect the others. A failure before any student code has run is
reported separately because the student did not cause it.
"""

from __future__ import annotations

import json
import secrets
import threading
from dataclasses import asdict, dataclass, field
from typing import Any

from course.grading.answers import CellKind, SubmittedCell, find_lab_name
from course.grading.clock import Clock
from course.grading.judges import Canceled, Judge, JudgeFailed, Judges
from course.grading.limits import SandboxLimits, Stop, StopReason
from course.grading.messages import read_lines, read_message
from course.grading.sandbox import Sandbox

_WORKER = "course.grading.worker"
# Time limit for starting Python and importing torch.
_START_SECONDS = 120.0
# Each stopped cell costs a new start of the sandbox, which takes seconds.
_MAX_STOPPED_CELLS = 12
_RESTART = Stop(StopReason.RESTART, "")


@dataclass
class Session:
    """The runs of one submission, and their results.

    The sandbox runs the student's code. A judge, which is another process, decides the verdicts.
    `results` has the outputs by cell index. `verdicts` has the verdicts by exercise number.
    `stops` has the reasons for stopped cells by index. `fault` is the reason why this machine could
    not run the submission, or None.
    """

    cells: list[SubmittedCell]
    limits: SandboxLimits
    cancel: threading.Event
    isolated: bool
    judges: Judges
    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    verdicts: dict[int, dict[str, Any]] = field(default_factory=dict)
    stops: dict[int, Stop] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    fault: Stop | None = None
    _skip: set[int] = field(default_factory=set)
    # Whether the student's code has started in the current run.
    _student_code_ran: bool = False
    # Seconds that the student's code has used in all runs.
    _used_seconds: float = 0.0
    # The index of the check in progress, or None.
    _judging: int | None = None

    def __post_init__(self) -> None:
        self._lab = find_lab_name(self.cells)

    def run(self) -> None:
        """Run the cells, and rerun them without the cells that had to be stopped.

        Raises:
            Canceled: `cancel` was set.
        """
        failures_between_cells = faults = 0
        while True:
            index, stop = self._run_once()
            if stop is None:
                self.fault = None
                return
            if self._used_seconds > self.limits.seconds:
                text = f"the whole lab took more than {self.limits.seconds:g} seconds"
                self._give_up(Stop(StopReason.TIME, text))
                return
            if stop.reason is StopReason.RESTART:
                continue
            if not self._student_code_ran:
                # Retry once: the failure may be transient, for example because memory was low.
                faults += 1
                if faults == 2:
                    return
            elif index is None:
                failures_between_cells += 1
                if failures_between_cells == 2:
                    self._give_up(Stop(stop.reason, f"the code before it {stop.text}"))
                    return
            else:
                self._skip.add(index)
                self.stops[index] = stop
                error = {"error": f"stopped: it {stop.text}", "outputs": []}
                self.results.setdefault(index, error)
                if len(self._skip) == _MAX_STOPPED_CELLS:
                    text = f"{_MAX_STOPPED_CELLS} other cells were stopped"
                    self._give_up(Stop(stop.reason, text))
                    return

    def _give_up(self, stop: Stop) -> None:
        self.fault = None
        for index, cell in enumerate(self.cells):
            if cell.kind is CellKind.CHECK and cell.exercise not in self.verdicts:
                self.stops[index] = Stop(stop.reason, f"was not graded: {stop.text}")

    def _run_once(self) -> tuple[int | None, Stop | None]:
        """Run the remaining cells; if the run stops, return the cell's index and the reason."""
        self._student_code_ran = False
        sandbox = Sandbox(_WORKER, self.limits, isolated=self.isolated)
        self.isolated = sandbox.isolated
        try:
            index, stop = self._run_with_judge(sandbox)
            if stop is not None and not self._student_code_ran:
                error = f": {sandbox.last_error}" if sandbox.last_error else ""
                text = f"its setup {stop.text} before any student code could run{error}"
                self.fault = Stop(stop.reason, text)
            return index, stop
        finally:
            sandbox.close()

    def _run_with_judge(self, sandbox: Sandbox) -> tuple[int | None, Stop | None]:
        self._judging = None
        try:
            with self.judges.borrow() as judge:
                return self._exchange_messages(sandbox, judge)
        except JudgeFailed as error:
            text = f"was not graded: the judge failed: {error}"
            return self._judging, Stop(StopReason.BUSY, text)

    def _exchange_messages(self, sandbox: Sandbox, judge: Judge) -> tuple[int | None, Stop | None]:
        secret = secrets.token_hex(32)
        task = {
            "secret": secret,
            "lab": self._lab,
            "cells": [asdict(cell) for cell in self.cells],
            "skip": sorted(self._skip),
            "judged": sorted(self.verdicts),
            "seconds": self.limits.cell_seconds,
            "isolated": sandbox.isolated,
        }
        index, clock = None, Clock(sandbox, _START_SECONDS)
        if stop := sandbox.send(task, clock.exceeded_limit):
            return None, stop
        used_before, num_bytes = self._used_seconds, 0
        student_start: float | None = None
        for line in read_lines(sandbox):
            now = clock.now()
            if student_start is not None:
                self._used_seconds = used_before + now - student_start
                if self._used_seconds > self.limits.seconds:
                    return index, Stop(StopReason.TIME, "used the time for the whole lab")
            if line is None:
                if self.cancel.is_set():
                    raise Canceled
                if stop := sandbox.exceeded_limit() or clock.exceeded_limit():
                    return index, stop
                continue
            if isinstance(line, int):
                return index, Stop(StopReason.OUTPUT, "printed more than the output limit")
            message = read_message(line, secret, self.cells)
            # Replies are expected only during a check, and other messages only outside of one.
            if message is None or ("reply" in message) is (self._judging is None):
                self._note("wrote to the grader's channel")
                continue
            if message.get("end"):
                return None, None
            if "check" in message:
                if self.cells[message["check"]].exercise in self.verdicts:
                    self._note("wrote to the grader's channel")
                    continue
                index = self._judging = message["check"]
                task = {"lab": self._lab, "source": self.cells[index].source}
                if stop := self._ask_judge(json.dumps(task).encode(), judge, sandbox, clock):
                    return index, stop
                continue
            if "reply" in message:
                # Forward the JSON text without parsing it again.
                if stop := self._ask_judge(line.partition(b" ")[2], judge, sandbox, clock):
                    return (None if stop is _RESTART else index), stop
                index = self._judging
                continue
            num_bytes += len(line)
            if num_bytes > self.limits.max_output_bytes:
                return index, Stop(StopReason.OUTPUT, "printed more than the output limit")
            if "begin" in message:
                index = message["begin"]
                seconds = min(message["seconds"], 10 * self.limits.seconds)
                clock.start(seconds + self.limits.grace)
                if self.cells[index].kind is not CellKind.GIVEN and not self._student_code_ran:
                    self._student_code_ran, student_start = True, now
                continue
            index = message.pop("cell")
            if message["error"] and not self._student_code_ran:
                text = f"stopped in the lab's own cells ({message['error']})"
                return index, Stop(StopReason.FAILED, text)
            self._save_result(index, message)
            if message["stop"]:
                text = message["error"].removeprefix("stopped: it ")
                return index, Stop(StopReason(message["stop"]), text)
            index = None
            clock.start(self.limits.cell_seconds + self.limits.grace)
        return index, sandbox.exit_reason()

    def _ask_judge(
        self, message: bytes, judge: Judge, sandbox: Sandbox, clock: Clock
    ) -> Stop | None:
        """Send a message to the judge; forward its next request or save its verdict."""
        with sandbox.waiting():
            response = judge.exchange(message, self.cancel)
        if "verdict" in response:
            verdict, index = response["verdict"], self._judging
            self._save_result(index, verdict)
            self._judging = None
            if verdict["stop"]:
                # The stopped code may have left the process in a bad state.
                return _RESTART
            response = {"request": {"do": "end"}}
            clock.start(self.limits.cell_seconds + self.limits.grace)
        elif response["request"].get("do") == "begin":
            # Allow more than the check's own time limit, which gives a better error message.
            seconds = max(self.limits.cell_seconds, response["request"]["seconds"] + 5)
            clock.start(seconds + self.limits.grace)
        return sandbox.send(response["request"], clock.exceeded_limit)

    def _save_result(self, index: int, result: dict[str, Any]) -> None:
        cell = self.cells[index]
        if cell.exercise in self.verdicts and index in self.results:
            # The cell was rerun for a later exercise. Keep the outputs of the run with the verdict.
            return
        self.results[index] = result
        if cell.kind is CellKind.CHECK:
            self.verdicts.setdefault(cell.exercise, result)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
