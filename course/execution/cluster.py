"""Executes jobs on the workers of a Dask cluster.

The notebook is sent with the job, and the result is sent back. A worker needs this package, but not
the course's files or a shared file system. Other files that a notebook writes are deleted, unless
the worker can access the batch's folder.
"""

from __future__ import annotations

import contextvars
import tempfile
import threading
import uuid
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from pathlib import Path

from distributed import Client
from distributed.scheduler import KilledWorker

from course.course_folder import CourseError
from course.execution.jobs import Job, RunLimits, RunResult, Status
from course.execution.local import LocalExecutor, WorkerConfig
from course.execution.progress import JobListener
from course.files import write_atomically


class ClusterExecutor:
    """Executes jobs on a Dask cluster, one job per worker thread.

    Raises:
        CourseError: there is no scheduler at the address.
    """

    def __init__(self, workers: WorkerConfig) -> None:
        try:
            self._client = Client(workers.cluster, timeout=20, set_as_default=False)
        except (OSError, ValueError) as error:
            raise CourseError(
                f"Cannot connect to a Dask scheduler at {workers.cluster} ({error}). "
                "To start one: dask scheduler"
            ) from None
        self._workers = workers
        self._batch = uuid.uuid4().hex
        self._dask_executor = self._client.get_executor(pure=False)
        self.stopped = False

    def submit(self, job: Job, limits: RunLimits, listener: JobListener) -> Future:
        """Execute the job on any worker. `listener` is not notified."""
        notebook = job.notebook.read_bytes()
        return self._dask_executor.submit(
            _execute, job, notebook, limits, self._workers, self._batch
        )

    def result(self, job: Job, future: Future) -> RunResult:
        """Return the result of a finished job and write its executed notebook to `job.output`.

        Raises:
            OSError: the disk is full.
        """
        try:
            error = future.exception()
        except CancelledError:
            return RunResult(job, Status.NOT_RUN)
        if isinstance(error, KilledWorker):
            reason = (
                "Several Dask workers died while they executed this notebook, possibly because "
                "they ran out of memory. The logs of the workers show the cause."
            )
            return RunResult(job, Status.FAILED, error=reason)
        if error is not None:
            return RunResult(job, Status.COULD_NOT_RUN, error=f"{type(error).__name__}: {error}")
        result, notebook = future.result()
        if notebook:
            write_atomically(job.output, notebook)
        return replace(result, job=job)

    def stop(self) -> None:
        """Kill the kernels of this batch on all workers and do not start new jobs."""
        self.stopped = True
        self._client.run(_stop, self._batch)

    def close(self) -> None:
        """Stop the kernels, and remove the state of this batch from the workers."""
        with self._client:
            self._client.run(_close, self._batch)


# The following functions run on the workers, which keep one `LocalExecutor` for each batch.
_lock = threading.Lock()
_executors: dict[str, LocalExecutor] = {}
_stopped_batches: set[str] = set()


def _execute(
    job: Job, notebook: bytes, limits: RunLimits, workers: WorkerConfig, batch: str
) -> tuple[RunResult, bytes]:
    """Execute `notebook` on the worker; return the result and the executed notebook."""
    with _lock:
        if batch in _stopped_batches:
            return RunResult(job, Status.NOT_RUN), b""
        if batch not in _executors:
            _executors[batch] = LocalExecutor(workers)
        executor = _executors[batch]
    with tempfile.TemporaryDirectory(prefix="course-") as name:
        scratch = Path(name)
        notebook_file, executed_file = scratch / "given.ipynb", scratch / "executed.ipynb"
        folder = job.folder
        notebook_file.write_bytes(notebook)
        if not folder.is_dir():
            folder = scratch / "files"
            folder.mkdir()
        local_job = replace(job, notebook=notebook_file, output=executed_file, folder=folder)
        # Use an empty context. In Dask's context, a task could get another task's event loop.
        result = contextvars.Context().run(executor.execute, local_job, limits, JobListener())
        return result, executed_file.read_bytes() if executed_file.exists() else b""


def _stop(batch: str) -> None:
    with _lock:
        _stopped_batches.add(batch)
        executor = _executors.get(batch)
    if executor is not None:
        executor.stop()


def _close(batch: str) -> None:
    _stop(batch)
    with _lock:
        executor = _executors.pop(batch, None)
    if executor is not None:
        executor.close()
