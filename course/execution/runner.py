"""Executes one notebook with papermill and returns the result."""

from __future__ import annotations

import errno
import re
import shutil
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from time import monotonic

import nbclient.client
import nbformat
from click import unstyle
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from papermill import PapermillExecutionError, execute_notebook
from papermill.engines import NBClientEngine, NotebookExecutionManager, papermill_engines
from papermill.execute import remove_error_markers

from course.execution.jobs import Job, RunLimits, RunResult, Status
from course.execution.kernels import CurrentPythonKernelManager
from course.files import read_notebook

# Minimum seconds between two saves of a running notebook.
_SAVE_INTERVAL = 5
_ENGINE = "course"
_DISK_FULL = {errno.ENOSPC, errno.EDQUOT}


class ThrottledSaveEngine(NBClientEngine):
    """papermill's engine, except that it saves every few seconds instead of twice per cell.

    Saving takes 16 ms. For a lesson with 100 cells, saving twice per cell would take 3 s.
    """

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: NotebookExecutionManager, kernel_name: str, **options: object
    ) -> NotebookNode:
        """Execute the notebook. papermill saves it once more at the end."""
        save, last_saved = nb_man.save, monotonic()

        def save_if_due(**kwargs: object) -> None:
            nonlocal last_saved
            if monotonic() - last_saved >= _SAVE_INTERVAL:
                save(**kwargs)
                last_saved = monotonic()

        nb_man.save = save_if_due
        try:
            return super().execute_managed_notebook(nb_man, kernel_name, **options)
        finally:
            nb_man.save = save


papermill_engines.register(_ENGINE, ThrottledSaveEngine)
# nbclient's regular expression for carriage returns takes quadratic time in the length of a line:
# 20 seconds for 80,000 characters, with the GIL held. The anchored expression has the same matches
# and takes linear time.
nbclient.client._RGX_CARRIAGERETURN = re.compile(r"^.*\r(?=[^\n])", re.MULTILINE)


class _Stopped(Exception):
    """Raised between two cells to stop the run."""


def run_job(
    job: Job,
    *,
    limits: RunLimits | None = None,
    kernels: type[CurrentPythonKernelManager] = CurrentPythonKernelManager,
    stopping: threading.Event | None = None,
    on_cell_done: Callable[[], None] = lambda: None,
) -> RunResult:
    """Execute one notebook and return the result.

    The executed notebook is written to `job.output`, even if a cell fails; it then includes the
    error. A run that does not pass is retried up to `limits.retries` times.

    Args:
        job: the notebook to execute, with its parameters.
        limits: time limits and retries.
        kernels: the kernel manager class.
        stopping: once it is set, no new cell starts. The caller must also kill the kernel.
        on_cell_done: called after each executed code cell, even if it failed.

    Raises:
        OSError: the disk is full. All other errors are returned in the result.
    """
    limits, stopping = limits or RunLimits(), stopping or threading.Event()
    for attempt in range(1, limits.retries + 2):
        if stopping.is_set():
            return RunResult(job, Status.NOT_RUN)
        if attempt > 1 and job.own_folder:
            shutil.rmtree(job.folder, ignore_errors=True)
            job.folder.mkdir(parents=True, exist_ok=True)
        start_time = datetime.now().astimezone().isoformat(timespec="seconds")
        result = _execute_once(job, limits, kernels, stopping, on_cell_done)
        result = replace(
            result, attempts=attempt, started=start_time, note=_remaining_processes_note(kernels)
        )
        if result.status == Status.PASSED:
            return result
        if stopping.is_set():
            return replace(result, status=Status.STOPPED, error="")
    return result


def _execute_once(
    job: Job,
    limits: RunLimits,
    kernels: type[CurrentPythonKernelManager],
    stopping: threading.Event,
    on_cell_done: Callable[[], None],
) -> RunResult:
    start = monotonic()
    current: int | None = None

    def before_cell(cell: NotebookNode, cell_index: int) -> None:
        nonlocal current
        if stopping.is_set():
            raise _Stopped
        current = cell_index

    def cell_time_limit(cell: NotebookNode) -> float | None:
        """Return the time limit of the next cell. nbclient calls this before each cell."""
        remaining = None if limits.run is None else max(0.1, start + limits.run - monotonic())
        return min((limit for limit in (limits.cell, remaining) if limit is not None), default=None)

    def result(status: Status, error: str = "") -> RunResult:
        seconds = monotonic() - start
        if status in (Status.PASSED, Status.COULD_NOT_RUN) or current is None:
            return RunResult(job, status, seconds, error=error)
        return _record_failure(RunResult(job, status, seconds, current, error=unstyle(error)))

    try:
        execute_notebook(
            job.notebook,
            job.output,
            job.parameters,
            # Required for a notebook without a kernel name. `kernels` selects the Python.
            kernel_name="python3",
            language="python",
            engine_name=_ENGINE,
            progress_bar=False,
            start_timeout=180,
            timeout_func=cell_time_limit,
            kernel_manager_class=kernels,
            # papermill's `cwd` argument would change the working directory of all threads.
            resources={"metadata": {"path": str(job.folder)}},
            coalesce_streams=True,
            on_cell_execute=before_cell,
            on_cell_executed=lambda **_: on_cell_done(),
        )
    except PapermillExecutionError as error:
        return result(Status.FAILED, f"{error.ename}: {error.evalue}".removesuffix(": "))
    except CellTimeoutError:
        return result(Status.TIMED_OUT, _time_limit_message(limits, monotonic() - start))
    except DeadKernelError:
        return result(Status.KERNEL_DIED, _kernel_death_reason(kernels))
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _DISK_FULL:
            raise
        # For example, the kernel did not start. The other notebooks still run.
        return result(Status.COULD_NOT_RUN, f"{type(error).__name__}: {error}")
    return result(Status.PASSED)


def _time_limit_message(limits: RunLimits, seconds: float) -> str:
    if limits.run is not None and seconds >= limits.run:
        return f"The run reached its time limit of {limits.run} s in this cell."
    return f"The cell reached its time limit of {limits.cell} s."


def _kernel_death_reason(kernels: type[CurrentPythonKernelManager]) -> str:
    """Return an error message for the kernel's exit status."""
    status = None if kernels.process is None else kernels.process.poll()
    if status is None or status == -getattr(signal, "SIGKILL", 9):
        return (
            "The kernel was killed while it executed this cell. The usual cause is that the "
            "machine ran out of memory."
        )
    if status < 0:
        return f"The kernel crashed in this cell ({signal.Signals(-status).name})."
    return (
        f"This cell ended the kernel's process with exit status {status}, as os._exit({status}) "
        "does."
    )


def _remaining_processes_note(kernels: type[CurrentPythonKernelManager]) -> str:
    processes = getattr(kernels.process, "remaining_processes", [])
    if not processes:
        return ""
    count = "1 process was" if len(processes) == 1 else f"{len(processes)} processes were"
    return (
        f"{count} still running after the notebook and had to be killed: {', '.join(processes[:3])}"
    )


def _record_failure(result: RunResult) -> RunResult:
    """Add the failure to the executed notebook, and the failing cell to the result."""
    notebook = remove_error_markers(read_notebook(result.job.output))
    cell = notebook.cells[result.cell]
    if result.status != Status.FAILED:
        text = f"{result.status}: {result.error}"
        cell.outputs.append(
            nbformat.v4.new_output(
                "error", ename=str(result.status), evalue=result.error, traceback=[text]
            )
        )
    nbformat.write(notebook, result.job.output)
    # Use the cell number in the original notebook, which has no injected parameters cell.
    cells_before = notebook.cells[: result.cell]
    injected = sum("injected-parameters" in c.metadata.get("tags", []) for c in cells_before)
    return replace(
        result, cell=result.cell - injected, cell_id=cell.get("id", ""), source=cell.source
    )
