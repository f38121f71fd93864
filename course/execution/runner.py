"""Executes one notebook headless through papermill and tells how it ended."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from time import monotonic

import nbformat
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from papermill import PapermillExecutionError, execute_notebook
from papermill.engines import NBClientEngine, NotebookExecutionManager, papermill_engines
from papermill.execute import remove_error_markers

from course.authoring.stored_outputs import plain_text
from course.execution.kernels import ThisPython

PASSED = "passed"
FAILED = "failed"
TIMED_OUT = "timed out"
KERNEL_DIED = "kernel died"
STOPPED = "stopped"
NOT_RUN = "not run"


# How old the executed notebook on disk may be while cells run, in seconds.
_SAVE_EVERY = 5
_ENGINE = "course"


@dataclass(frozen=True)
class Job:
    """One notebook to execute: where it stands, where the result goes, with which parameters.

    `folder` is the kernel's working folder, to which relative paths in parameters refer; `own`
    says that it is this job's alone and is emptied before another attempt.
    """

    name: str
    notebook: Path
    output: Path
    folder: Path
    parameters: dict[str, object] = field(default_factory=dict)
    own: bool = False


@dataclass(frozen=True)
class Limits:
    """How long a cell and a whole run may take, in seconds, and how often a run is tried again."""

    cell: int | None = None
    run: int | None = None
    retries: int = 0


@dataclass(frozen=True)
class Outcome:
    """How one notebook ended.

    `cell` is the index of the cell that did not get through (None if all did), as it stands in
    the executed notebook; `cell_id` and `source` are that cell's; `error` says what happened.
    `begun` is a date in ISO's format; `host`, `gpu` and `versions` say where it ran, and on what.
    `machine` says that the machine is to blame, not the notebook: another try may well pass.
    """

    job: Job
    status: str
    seconds: float = 0.0
    cell: int | None = None
    cell_id: str = ""
    source: str = ""
    error: str = ""
    attempts: int = 1
    begun: str = ""
    host: str = ""
    gpu: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    machine: bool = False


class SeldomSaving(NBClientEngine):
    """papermill's engine, but it writes the notebook every few seconds, not twice for each cell.

    A lesson with its figures has a hundred cells and takes 16 ms to write: three seconds a run.
    """

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: NotebookExecutionManager, kernel_name: str, **options: object
    ) -> NotebookNode:
        """Execute the notebook; papermill writes it once more when it is through."""
        save, written = nb_man.save, monotonic()

        def save_seldom(**further: object) -> None:
            nonlocal written
            if monotonic() - written >= _SAVE_EVERY:
                save(**further)
                written = monotonic()

        nb_man.save = save_seldom
        try:
            return super().execute_managed_notebook(nb_man, kernel_name, **options)
        finally:
            nb_man.save = save


papermill_engines.register(_ENGINE, SeldomSaving)


class _Stopped(Exception):
    """Raised between two cells when the run is to go no further."""


def run_job(
    job: Job,
    *,
    limits: Limits | None = None,
    kernels: type[ThisPython] = ThisPython,
    stopping: threading.Event | None = None,
    on_cell_done: Callable[[], None] = lambda: None,
) -> Outcome:
    """Execute one notebook; never raises for what happens in it.

    The executed notebook is written to `job.output`, as far as it came, with the failure shown
    in the cell where it happened. A run that does not pass is tried again as often as `limits`
    says. After `stopping` is set it ends before the next cell; its kernel is for the one who sets
    it to kill.
    """
    limits, stopping = limits or Limits(), stopping or threading.Event()
    for attempt in range(1, limits.retries + 2):
        if stopping.is_set():
            return Outcome(job, NOT_RUN)
        if attempt > 1 and job.own:
            shutil.rmtree(job.folder, ignore_errors=True)
            job.folder.mkdir(parents=True, exist_ok=True)
        begun = datetime.now().astimezone().isoformat(timespec="seconds")
        outcome = _try(job, limits, kernels, stopping, on_cell_done)
        outcome = replace(outcome, attempts=attempt, begun=begun)
        if outcome.status == PASSED:
            return outcome
        if stopping.is_set():
            return replace(outcome, status=STOPPED, error="")
    return outcome


def _try(
    job: Job,
    limits: Limits,
    kernels: type[ThisPython],
    stopping: threading.Event,
    on_cell_done: Callable[[], None],
) -> Outcome:
    begun = monotonic()
    reached = -1

    def note_cell(cell: NotebookNode, cell_index: int) -> None:
        nonlocal reached
        if stopping.is_set():
            raise _Stopped
        reached = cell_index

    def time_for(cell: NotebookNode) -> float | None:
        """Seconds that the next cell may take: nbclient asks before each one."""
        left = None if limits.run is None else max(0.1, begun + limits.run - monotonic())
        return min((limit for limit in (limits.cell, left) if limit is not None), default=None)

    def ended(status: str, cell: int | None = None, error: str = "") -> Outcome:
        seconds = monotonic() - begun
        if cell is None or cell < 0:
            return Outcome(job, status, seconds, error=error)
        return _show_failure(Outcome(job, status, seconds, cell, error=error))

    try:
        execute_notebook(
            job.notebook,
            job.output,
            job.parameters,
            # For a notebook that does not say; whichever it says, it gets the Python that runs.
            kernel_name="python3",
            language="python",
            engine_name=_ENGINE,
            progress_bar=False,
            start_timeout=180,
            timeout_func=time_for,
            kernel_manager_class=kernels,
            # Not papermill's `cwd`: that one changes the folder of all threads.
            resources={"metadata": {"path": str(job.folder)}},
            coalesce_streams=True,
            on_cell_execute=note_cell,
            on_cell_executed=lambda **_: on_cell_done(),
        )
    except PapermillExecutionError as error:
        return ended(FAILED, reached, f"{error.ename}: {error.evalue}".removesuffix(": "))
    except CellTimeoutError:
        return ended(TIMED_OUT, reached, _limit_reached(limits, monotonic() - begun))
    except DeadKernelError:
        return ended(
            KERNEL_DIED,
            reached,
            "The kernel died while it executed this cell. The usual cause is that the machine "
            "ran out of memory.",
        )
    except Exception as error:
        # Of the machine, not of the notebook (a full disk, a kernel that does not start); one
        # such notebook must not take the others' results with it.
        outcome = ended(FAILED, error=f"{type(error).__name__}: {error}")
        return replace(outcome, machine=True)
    return ended(PASSED)


def _limit_reached(limits: Limits, seconds: float) -> str:
    if limits.run is not None and seconds >= limits.run:
        return f"The run took longer than its limit of {limits.run} s, and this cell was its last."
    return f"The cell took longer than its limit of {limits.cell} s."


def _show_failure(outcome: Outcome) -> Outcome:
    """Write the failure into the executed notebook; complete the outcome from its cell."""
    notebook = remove_error_markers(nbformat.read(outcome.job.output, as_version=4))
    cell = notebook.cells[outcome.cell]
    error = plain_text(outcome.error)
    if outcome.status != FAILED:
        cell.outputs.append(
            nbformat.v4.new_output(
                "error",
                ename=outcome.status,
                evalue=error,
                traceback=[f"{outcome.status}: {error}"],
            )
        )
    nbformat.write(notebook, outcome.job.output)
    return replace(outcome, cell_id=cell.get("id", ""), source=cell.source, error=error)
