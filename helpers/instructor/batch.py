"""Executes notebooks headless through papermill and tells how each of them ended."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic

import nbformat
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from papermill import PapermillExecutionError, execute_notebook
from papermill.execute import remove_error_markers

from helpers.instructor.kernels import ThisPython, kill_kernels
from helpers.instructor.stored_outputs import plain_text

PASSED = "passed"
FAILED = "failed"
TIMED_OUT = "timed out"
KERNEL_DIED = "kernel died"
STOPPED = "stopped"
NOT_RUN = "not run"


@dataclass(frozen=True)
class Job:
    """One notebook to execute: where it stands, where the result goes, with which parameters.

    `folder` is the kernel's working folder, to which relative paths in parameters refer.
    """

    name: str
    notebook: Path
    output: Path
    folder: Path
    parameters: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """How one notebook ended.

    `cell` is the index of the cell that did not get through (None if all did), as it stands in
    the executed notebook; `cell_id` and `source` are that cell's; `error` says what happened.
    """

    job: Job
    status: str
    seconds: float = 0.0
    cell: int | None = None
    cell_id: str = ""
    source: str = ""
    error: str = ""


class Watcher:
    """Is told how the jobs get on; this one does nothing. The first two calls come from threads."""

    def began(self, job: Job) -> None:
        """A job starts its kernel."""

    def cell_done(self, job: Job) -> None:
        """A code cell of the job got through."""

    def waiting(self) -> None:
        """Called about twice a second while jobs run."""

    def ended(self, outcome: Outcome) -> None:
        """A job ended by itself, well or not."""


def run_jobs(
    jobs: list[Job],
    watcher: Watcher,
    *,
    workers: int = 1,
    cell_timeout: int | None = None,
) -> list[Outcome]:
    """Execute all jobs, `workers` at a time, and return their outcomes in the order of the jobs.

    Whatever goes wrong in one of them, the others run. Ctrl-C kills the kernels that run; their
    jobs are then `STOPPED`, those that had not begun `NOT_RUN`.
    """
    stopping = threading.Event()
    # A notebook is executed by its kernel, which is a process; here threads only wait for it.
    with ThreadPoolExecutor(max_workers=workers) as pool:
        futures = {
            pool.submit(_run_unless, stopping, job, watcher, cell_timeout): job for job in jobs
        }
        try:
            _watch(set(futures), watcher)
        except KeyboardInterrupt:
            stopping.set()
            kill_kernels()
            _kill_latecomers(set(futures))
    return [future.result() for future in futures]


def _watch(pending: set[Future[Outcome]], watcher: Watcher) -> None:
    while pending:
        # With a time limit also because on Windows Ctrl-C does not interrupt an unlimited wait.
        ended, pending = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
        watcher.waiting()
        for future in ended:
            watcher.ended(future.result())


def _kill_latecomers(pending: set[Future[Outcome]]) -> None:
    """Kill also kernels that were only starting when the others were killed."""
    while pending:
        _, pending = wait(pending, timeout=0.5)
        kill_kernels()


def _run_unless(
    stopping: threading.Event, job: Job, watcher: Watcher, cell_timeout: int | None
) -> Outcome:
    if stopping.is_set():
        return Outcome(job, NOT_RUN)
    watcher.began(job)
    outcome = run_job(job, cell_timeout=cell_timeout, on_cell_done=lambda: watcher.cell_done(job))
    if stopping.is_set() and outcome.status != PASSED:
        return replace(outcome, status=STOPPED, error="")
    return outcome


def run_job(
    job: Job,
    *,
    cell_timeout: int | None = None,
    on_cell_done: Callable[[], None] = lambda: None,
) -> Outcome:
    """Execute one notebook; never raises for what happens in it.

    The executed notebook is written to `job.output`, as far as it came, with the failure shown
    in the cell where it happened.
    """
    begun = monotonic()
    reached = -1

    def note_cell(cell: NotebookNode, cell_index: int) -> None:
        nonlocal reached
        reached = cell_index

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
            progress_bar=False,
            start_timeout=180,
            execution_timeout=cell_timeout,
            kernel_manager_class=ThisPython,
            # Not papermill's `cwd`: that one changes the folder of all threads.
            resources={"metadata": {"path": str(job.folder)}},
            coalesce_streams=True,
            on_cell_execute=note_cell,
            on_cell_executed=lambda **_: on_cell_done(),
        )
    except PapermillExecutionError as error:
        return ended(FAILED, reached, f"{error.ename}: {error.evalue}".removesuffix(": "))
    except CellTimeoutError:
        limit = f"The cell took longer than its limit of {cell_timeout} s."
        return ended(TIMED_OUT, reached, limit)
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
        return ended(FAILED, error=f"{type(error).__name__}: {error}")
    return ended(PASSED)


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
