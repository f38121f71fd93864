"""Runs one submission in a sandbox, and judges its exercises here with facts from the sandbox.

A `RemoteWorker` sends one request at a time to the worker in the sandbox and reads the reply.

If a cell ends the process or has to be stopped, the submission runs again without this cell, so
that one bad answer does not affect the others. A failure before any student code has run is
reported separately because the student did not cause it.
"""

import base64
import copy
import json
import os
import secrets
import select
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

import cloudpickle
import torch

from course.grading.answers import CellKind, SubmittedCell, find_lab_name
from course.grading.facts_codec import Malformed, decode
from course.grading.limits import (
    MAX_TEXT,
    SandboxLimits,
    Stop,
    StopReason,
    make_result,
    read_result,
)
from course.grading.sandbox import Sandbox
from helpers.checks.collecting import Case, Error, Facts
from helpers.checks.exercise import Exercise, Lab

# Time limit for starting Python and importing torch.
_START_SECONDS = 120.0
_POLL_SECONDS = 0.1
# If a request gets less than 1/50 of the wall time, the machine is too busy for grading.
_MAX_SLOWDOWN = 50
# Time limit for the lab's own cells, because the first one may import more than torch.
_GIVEN_SECONDS = 120.0
# Each stopped cell costs a new start of the sandbox, which takes seconds.
_MAX_STOPPED_CELLS = 12
# Judges use torch's global random number generator.
_judge_lock = threading.Lock()


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
        index = None
        worker = RemoteWorker(self.limits, self.cancel, isolated=self.isolated)
        self.isolated = worker.sandbox.isolated
        try:
            worker.start(self._lab_name)
            for index, cell in enumerate(self.cells):
                is_judged = cell.kind is CellKind.CHECK and cell.exercise in self.verdicts
                if cell.kind is CellKind.TEXT or index in self.stops or is_judged:
                    continue
                if cell.kind is not CellKind.GIVEN:
                    worker.total = self._total
                if cell.kind is not CellKind.CHECK:
                    self._run_cell(worker, index, cell)
                elif not self._check(worker, index, cell):
                    return True
            self.fault = None
            return False
        except WorkerStopped as stopped:
            return self._handle_stop(stopped.stop, None if stopped.was_idle else index, worker)
        finally:
            if worker.has_foreign_messages:
                self.notes = ["wrote to the grader's channel"]
            worker.sandbox.close()

    def _run_cell(self, worker: RemoteWorker, index: int, cell: SubmittedCell) -> None:
        seconds = self.limits.cell_seconds
        if cell.kind is CellKind.GIVEN:
            seconds = max(seconds, _GIVEN_SECONDS)
        limit = TimeLimit(seconds + self.limits.grace)
        reply = worker.request("run", limit, source=cell.source, seconds=seconds)
        result = read_result(reply)
        if result["error"] and worker.total is None:
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
        ask = partial(worker.request, "collect", TimeLimit(seconds + self.limits.grace))
        try:
            verdict = check_remotely(exercise, ask)
        except (WorkerStopped, Canceled):
            raise
        except Exception as error:  # the student is not responsible for an error of the judge
            text = f"was not graded: the judge failed: {type(error).__name__}: {error}"
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

    def _handle_stop(self, stop: Stop, index: int | None, worker: RemoteWorker) -> bool:
        """Record why a run ended early; return whether to try again."""
        if self._total.used > self._total.seconds:
            text = f"the whole lab took more than {self.limits.seconds:g} seconds"
            return self._give_up(Stop(StopReason.TIME, text))
        if worker.total is None:
            text = f"its setup {stop.text} before any student code could run"
            last_error = worker.sandbox.last_error()
            self.fault = Stop(stop.reason, f"{text}: {last_error}" if last_error else text)
            # Retry once: the failure may be transient, for example because memory was low.
            self._faults += 1
            return self._faults < 2
        if index is None:
            self._idle_stops += 1
            text = f"the code before it {stop.text}"
            return self._idle_stops < 2 or self._give_up(Stop(stop.reason, text))
        self.stops[index] = stop
        self.results.setdefault(index, make_result(f"stopped: it {stop.text}"))
        text = f"{_MAX_STOPPED_CELLS} other cells were stopped"
        can_retry = len(self.stops) < _MAX_STOPPED_CELLS
        return can_retry or self._give_up(Stop(stop.reason, text))

    def _give_up(self, stop: Stop) -> bool:
        self.fault = None
        for index, cell in enumerate(self.cells):
            if cell.kind is CellKind.CHECK and cell.exercise not in self.verdicts:
                self.stops[index] = Stop(stop.reason, f"was not graded: {stop.text}")
        return False


def load_lab(name: str) -> Lab:
    """Return a copy of a lab such as "lab_01", with no attempts counted yet."""
    package = import_module(f"helpers.checks.{name}")
    # The sandbox cannot import the checks.
    cloudpickle.register_pickle_by_value(package)
    lab = copy.copy(package.lab)
    lab.exercises = {number: copy.copy(e) for number, e in lab.exercises.items()}
    for exercise in lab.exercises.values():
        exercise.lab, exercise.passed, exercise.tries, exercise.hint_counts = lab, False, 0, {}
    return lab


class _AnswerMissing(Exception):
    """The notebook does not define one of the answers; the argument is its name."""


def check_remotely(
    exercise: Exercise, ask: Callable[..., dict[str, Any]], seed: int | None = None
) -> dict[str, Any]:
    """Judge the student's answers to an exercise; return the result of its check cell.

    `ask` sends a request to collect facts, with its arguments as fields, and returns the reply. One
    thread judges at a time. While the sandbox collects facts, another one may judge.
    """

    def collect(function: Callable[..., Facts], case: Case) -> Facts:
        with torch._C.DisableTorchFunction():
            pickled = base64.b64encode(cloudpickle.dumps((function, case))).decode()
        _judge_lock.release()
        try:
            reply = ask(names=exercise.names, seconds=exercise.seconds, collector=pickled)
        finally:
            _judge_lock.acquire()
        if reply.get("missing") in exercise.names:
            raise _AnswerMissing(reply["missing"])
        try:
            return decode(str(reply.get("facts")))
        except Malformed as error:
            return Facts(error=Error("unusable-result", {"error": str(error)}))

    try:
        with _judge_lock:
            torch.set_num_threads(1)
            # Without a GPU, the worker simulates two.
            verdict = exercise.run(collect, seed, torch.cuda.device_count() or 2)
            box = exercise.record(verdict)
    except _AnswerMissing as missing:
        error = f"NameError: name '{missing}' is not defined"
        return {"passed": False, "hint": None, "message": error} | make_result(error)
    wrong = "" if verdict.mistake is None else verdict.mistake.wrong[:MAX_TEXT]
    outputs: list[dict[str, Any]] = [{"data": {"text/plain": box.text[:MAX_TEXT]}}]
    if box.text_printed:
        outputs.append({"name": "stdout", "text": box.text_printed[:MAX_TEXT]})
    error = f"CheckFailed: exercise {exercise.number}: {wrong}" if wrong else ""
    # A student's process may claim anything.
    stop = StopReason(verdict.facts.stopped) if verdict.facts.stopped in ("time", "memory") else ""
    fields = {"passed": verdict.passed, "hint": verdict.hint, "message": wrong}
    return fields | make_result(error, "", stop, outputs)
