"""Runs one submission in a sandbox until every exercise has a verdict.

If a cell ends the process or has to be stopped, the submission runs again without this cell, so
that one bad answer does not affect the others. A failure before any student code has run is
reported separately because the student did not cause it.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from course.grading.answers import CellKind, SubmittedCell, find_lab_name
from course.grading.limits import SandboxLimits, Stop, StopReason
from course.grading.outputs import make_result, read_result
from course.grading.remote_check import JudgeFailed, check_remotely, load_lab
from course.grading.remote_worker import RemoteWorker, TimeLimit, WorkerStopped

# Time limit for the lab's own cells, because the first one may import more than torch.
_GIVEN_SECONDS = 120.0
# Each stopped cell costs a new start of the sandbox, which takes seconds.
_MAX_STOPPED_CELLS = 12
_FOREIGN_MESSAGES = "wrote to the grader's channel"


@dataclass
class Session:
    """The runs of one submission, and their results.

    The sandbox runs the student's code; the verdicts are reached in this process. `results` has the
    outputs by cell index. `verdicts` has the verdicts by exercise number. `stops` has the reasons
    for stopped cells by index. `fault` is the reason why this machine could not run the submission,
    or None.
    """

    cells: list[SubmittedCell]
    limits: SandboxLimits
    cancel: threading.Event
    isolated: bool
    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    verdicts: dict[int, dict[str, Any]] = field(default_factory=dict)
    stops: dict[int, Stop] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    fault: Stop | None = None
    # Whether the student's code has started in the current run.
    _student_code_ran: bool = False
    # How often the setup failed, and how often the process ended between two cells.
    _faults: int = 0
    _idle_stops: int = 0

    def __post_init__(self) -> None:
        self._lab_name = find_lab_name(self.cells)
        self._lab = load_lab(self._lab_name)
        # The seconds that the student's code uses in all runs.
        self._total = TimeLimit(self.limits.seconds)

    def run(self) -> None:
        """Run the cells, and rerun them without the cells that had to be stopped.

        Raises:
            Canceled: `cancel` was set.
        """
        while self._run_once():
            pass

    def _run_once(self) -> bool:
        """Run the cells that still matter; return whether a new process has to run the rest."""
        self._student_code_ran, index = False, None
        worker = RemoteWorker(self._lab_name, self.limits, self.cancel, isolated=self.isolated)
        self.isolated = worker.isolated
        try:
            worker.start()
            for index, cell in enumerate(self.cells):
                is_judged = cell.kind is CellKind.CHECK and cell.exercise in self.verdicts
                if cell.kind is CellKind.TEXT or index in self.stops or is_judged:
                    continue
                if cell.kind is not CellKind.GIVEN:
                    self._student_code_ran, worker.total = True, self._total
                if cell.kind is not CellKind.CHECK:
                    self._run_cell(worker, index, cell)
                elif not self._check(worker, index, cell):
                    return True
            self.fault = None
            return False
        except WorkerStopped as stopped:
            error = f": {worker.last_error}" if worker.last_error else ""
            return self._handle_stop(stopped.stop, None if stopped.was_idle else index, error)
        finally:
            if worker.has_foreign_messages and _FOREIGN_MESSAGES not in self.notes:
                self.notes.append(_FOREIGN_MESSAGES)
            worker.close()

    def _run_cell(self, worker: RemoteWorker, index: int, cell: SubmittedCell) -> None:
        seconds = self.limits.cell_seconds
        if cell.kind is CellKind.GIVEN:
            seconds = max(seconds, _GIVEN_SECONDS)
        limit = TimeLimit(seconds + self.limits.grace)
        reply = worker.request("run", limit, source=cell.source, seconds=seconds)
        result = read_result(reply)
        if result["error"] and not self._student_code_ran:
            text = f"stopped in the lab's own cells ({result['error']})"
            raise WorkerStopped(Stop(StopReason.FAILED, text))
        if cell.exercise not in self.verdicts or index not in self.results:
            # Otherwise, the cell was rerun for a later exercise. Keep the outputs of the run with
            # the verdict.
            self.results[index] = result
        if result["stop"]:
            text = result["error"].removeprefix("stopped: it ")
            raise WorkerStopped(Stop(result["stop"], text))

    def _check(self, worker: RemoteWorker, index: int, cell: SubmittedCell) -> bool:
        """Save the verdict of a check; return whether the worker can go on."""
        exercise = self._lab.exercises[cell.exercise]
        # Allow more than the check's own time limit, which gives a better error message.
        seconds = max(self.limits.cell_seconds, exercise.seconds + 5)
        limit = TimeLimit(seconds + self.limits.grace)
        try:
            verdict = check_remotely(
                exercise, lambda **fields: worker.request("collect", limit, **fields)
            )
        except JudgeFailed as error:
            text = f"was not graded: the judge failed: {error}"
            self.stops[index] = Stop(StopReason.BUSY, text)
            self.results[index] = make_result(text)
        else:
            self.results[index] = self.verdicts[cell.exercise] = verdict
            if verdict["stop"]:
                # The stopped code may have left the process in a bad state.
                return False
        try:
            worker.request("end", TimeLimit(self.limits.cell_seconds + self.limits.grace))
        except WorkerStopped:
            return False
        return True

    def _handle_stop(self, stop: Stop, index: int | None, last_error: str) -> bool:
        """Record why a run ended early; return whether to try again."""
        if self._total.used > self._total.seconds:
            text = f"the whole lab took more than {self.limits.seconds:g} seconds"
            return self._give_up(Stop(StopReason.TIME, text))
        if not self._student_code_ran:
            text = f"its setup {stop.text} before any student code could run{last_error}"
            self.fault = Stop(stop.reason, text)
            # Retry once: the failure may be transient, for example because memory was low.
            self._faults += 1
            return self._faults < 2
        if index is None:
            self._idle_stops += 1
            if self._idle_stops < 2:
                return True
            return self._give_up(Stop(stop.reason, f"the code before it {stop.text}"))
        self.stops[index] = stop
        self.results.setdefault(index, make_result(f"stopped: it {stop.text}"))
        if len(self.stops) < _MAX_STOPPED_CELLS:
            return True
        return self._give_up(Stop(stop.reason, f"{_MAX_STOPPED_CELLS} other cells were stopped"))

    def _give_up(self, stop: Stop) -> bool:
        self.fault = None
        for index, cell in enumerate(self.cells):
            if cell.kind is CellKind.CHECK and cell.exercise not in self.verdicts:
                self.stops[index] = Stop(stop.reason, f"was not graded: {stop.text}")
        return False
