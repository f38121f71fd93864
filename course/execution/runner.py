"""Executes one notebook with papermill's parameters and returns the result."""

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
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

from course.execution.jobs import ExecutionSettings, Job, RunResult, Status
from course.execution.kernels import CurrentPythonKernelMixin

# nbclient's regular expression for carriage returns takes quadratic time in the length of a line:
# 20 seconds for 80,000 characters, with the GIL held. The anchored expression has the same matches
# and takes linear time.
nbclient.client._RGX_CARRIAGERETURN = re.compile(r"^.*\r(?=[^\n])", re.MULTILINE)


def run_job(
    job: Job,
    settings: ExecutionSettings,
    make_manager: Callable[[], CurrentPythonKernelMixin],
    stopping: threading.Event,
    on_cell_done: Callable[[], None],
) -> RunResult:
    """Execute one notebook and return the result.

    The executed notebook is written to `job.output`, even if a cell fails; it then includes the
    error. `make_manager` returns the manager of a new kernel for each attempt. Once `stopping` is
    set, no new cell starts; the caller must also kill the kernel.

    Raises:
        OSError: the disk is full. All other errors are returned in the result.
    """
    for attempt in range(1, settings.retries + 2):
        if stopping.is_set():
            return RunResult(job, Status.NOT_RUN)
        if attempt > 1 and job.own_folder:
            shutil.rmtree(job.folder, ignore_errors=True)
            job.folder.mkdir(parents=True, exist_ok=True)
        started, start = datetime.now().astimezone(), monotonic()
        manager, note = make_manager(), ""
        try:
            result = _execute(job, settings, manager, stopping, on_cell_done)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            # For example, the kernel did not start. The other notebooks still run.
            text = f"{type(error).__name__}: {error}"
            result = RunResult(job, Status.COULD_NOT_RUN, error=text)
        if names := getattr(manager.process, "remaining_processes", []):
            count = "1 process was" if len(names) == 1 else f"{len(names)} processes were"
            note = f"{count} still running after the notebook and had to be killed: "
            note += ", ".join(names[:3])
        result = replace(
            result, seconds=monotonic() - start, attempts=attempt, note=note,
            started=started.isoformat(timespec="seconds"),
        )  # fmt: skip
        if result.status == Status.PASSED:
            return result
        if stopping.is_set():
            job.output.unlink(missing_ok=True)
            return RunResult(job, Status.STOPPED)
    return result


def _execute(
    job: Job,
    settings: ExecutionSettings,
    manager: CurrentPythonKernelMixin,
    stopping: threading.Event,
    on_cell_done: Callable[[], None],
) -> RunResult:
    """Execute the notebook once and write it."""
    start, index = monotonic(), 0
    notebook = load_notebook_node(str(job.notebook))
    if job.parameters:
        options = {"kernel_name": "python3", "language": "python"}
        notebook = parameterize_notebook(notebook, job.parameters, **options)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None

    def cell_time_limit(cell: NotebookNode) -> float | None:
        """Return the time limit of the next cell. nbclient calls this before each cell."""
        seconds = [settings.cell_limit] if settings.cell_limit else []
        if settings.run_limit:
            seconds.append(max(0.1, start + settings.run_limit - monotonic()))
        return min(seconds, default=None)

    client = nbclient.client.NotebookClient(
        notebook,
        km=manager,
        startup_timeout=180,
        timeout_func=cell_time_limit,
        resources={"metadata": {"path": str(job.folder)}},
        coalesce_streams=True,
        on_cell_executed=lambda **_: on_cell_done(),
    )
    client.reset_execution_trackers()
    status, text = Status.PASSED, ""
    try:
        # nbclient does not end the kernel of a manager that it did not create.
        with client.setup_kernel(cleanup_kc=True):
            for index, cell in enumerate(notebook.cells):
                if stopping.is_set():
                    return RunResult(job, Status.STOPPED)
                client.execute_cell(cell, index)
            client.set_widgets_metadata()
            info = client.wait_for_reply(client.kc.kernel_info())["content"]
            notebook.metadata["language_info"] = info["language_info"]
    except CellExecutionError as error:
        status, text = Status.FAILED, unstyle(f"{error.ename}: {error.evalue}").removesuffix(": ")
    except CellTimeoutError:
        status, text = (
            Status.TIMED_OUT,
            f"The cell reached its time limit of {settings.cell_limit} s.",
        )
        if settings.run_limit is not None and monotonic() - start >= settings.run_limit:
            text = f"The run reached its time limit of {settings.run_limit} s in this cell."
    except DeadKernelError:
        number = None if manager.process is None else manager.process.poll()
        status = Status.KERNEL_DIED
        text = (
            f"This cell ended the kernel's process with exit status {number}, as "
            f"os._exit({number}) does."
        )
        if number is None or number == -getattr(signal, "SIGKILL", 9):
            text = (
                "The kernel was killed while it executed this cell. The usual cause is that the "
                "machine ran out of memory."
            )
        elif number < 0:
            text = f"The kernel crashed in this cell ({signal.Signals(-number).name})."
    result = RunResult(job, status, error=text)
    if status != Status.PASSED:
        cell = notebook.cells[index]
        if status != Status.FAILED:
            error = {"ename": str(status), "evalue": text, "traceback": [f"{status}: {text}"]}
            cell.outputs.append(nbformat.v4.new_output("error", **error))
        # Use the cell number in the original notebook, which has no injected parameters cell.
        tags = [cell.metadata.get("tags", []) for cell in notebook.cells[:index]]
        index -= sum("injected-parameters" in names for names in tags)
        result = replace(result, cell=index, cell_id=cell.get("id", ""), source=cell.source)
    nbformat.write(notebook, job.output)
    return result
