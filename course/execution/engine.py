"""Executes notebooks in parallel: in threads of this process, or on the workers of a Dask cluster.

To a cluster, the notebook is sent with the job, and the result is sent back. Other files that a
notebook writes are deleted, unless the worker can access the batch's folder.
"""

import contextlib
import contextvars
import logging
import os
import queue
import signal
import socket
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

from course.command_line import handle_sigterm_as_ctrl_c
from course.execution import gpus
from course.execution.cluster import connect
from course.execution.jobs import ExecutionSettings, Job, JobListener, RunResult, Status
from course.execution.kernels import Kernels
from course.execution.provenance import versions
from course.execution.runner import run_job
from course.files import write_atomically


def run_jobs(
    jobs: Sequence[Job], listener: JobListener, settings: ExecutionSettings
) -> list[RunResult]:
    """Execute all jobs and return their results in the order of the jobs.

    Exclusive jobs run last, one at a time. Ctrl-C and SIGTERM kill the kernels: running jobs get
    the status `STOPPED`, and jobs that have not started get `NOT_RUN`. An OSError, such as a full
    disk, stops the remaining jobs.
    """
    # nbclient logs dead kernels and timeouts, and the log lines would break the progress bar.
    for library in ("papermill", "asyncio"):
        logging.getLogger(library).addHandler(logging.NullHandler())
    make_executor = LocalExecutor if settings.cluster is None else ClusterExecutor
    executor = make_executor(settings, listener)
    results: dict[str, RunResult] = {}
    failure: Exception | None = None
    with contextlib.closing(executor), _on_interrupt(executor.stop):
        parallel_jobs = [job for job in jobs if not job.exclusive]
        for group in [parallel_jobs, *([job] for job in jobs if job.exclusive)]:
            futures = {executor.submit(job): job for job in group}
            for future in as_completed(futures):
                job = futures[future]
                try:
                    result = results[job.name] = executor.result(job, future)
                    if result.status not in (Status.STOPPED, Status.NOT_RUN):
                        listener.on_job_finished(result)
                except Exception as error:
                    # Wait for the other jobs to end before raising the first error.
                    failure = failure or error
                    executor.stop()
    if failure is not None:
        raise failure
    return [results[job.name] for job in jobs]


@contextlib.contextmanager
def _on_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` in a thread at the first Ctrl-C or SIGTERM; later ones interrupt as usual."""

    def handle(*_: object) -> None:
        handle_sigterm_as_ctrl_c()
        # The signal may have interrupted code that holds a lock.
        threading.Thread(target=stop).start()

    # Python can set signal handlers only in the main thread.
    is_main = threading.current_thread() is threading.main_thread()
    for number in (signal.SIGINT, signal.SIGTERM) if is_main else ():
        signal.signal(number, handle)
    try:
        yield
    finally:
        if is_main:
            handle_sigterm_as_ctrl_c()


class LocalExecutor:
    """Executes jobs in threads of this process, each with its own kernel and GPU."""

    def __init__(self, settings: ExecutionSettings, listener: JobListener) -> None:
        self._settings, self._listener = settings, listener
        self._stopping = threading.Event()
        self._kernels = Kernels(settings.preload)
        # Parallel jobs share the cores.
        cores = (os.cpu_count() or 1) // settings.jobs
        self._cores_per_job = str(max(1, cores)) if settings.jobs > 1 else ""
        # Assign one job to each GPU before assigning a second job to any GPU.
        names = gpus.visible_gpu_ids() if settings.gpus is None else settings.gpus
        self._gpus = [*names] * settings.jobs_per_gpu
        self._free_gpus: queue.SimpleQueue[str] = queue.SimpleQueue()
        for name in self._gpus:
            self._free_gpus.put(name)
        self._threads = ThreadPoolExecutor(min(settings.jobs, len(self._gpus) or settings.jobs))

    def submit(self, job: Job) -> Future[RunResult]:
        """Execute the job when a thread is free."""
        return self._threads.submit(self.execute, job)

    def execute(self, job: Job) -> RunResult:
        """Execute one job as soon as a GPU is free."""
        gpu = self._free_gpus.get() if self._gpus else ""
        try:
            if self._stopping.is_set():
                return RunResult(job, Status.NOT_RUN)
            self._listener.on_job_started(job)
            environment = {"CUDA_VISIBLE_DEVICES": gpu} if gpu else {}
            if self._cores_per_job and not job.exclusive and "OMP_NUM_THREADS" not in os.environ:
                environment["OMP_NUM_THREADS"] = self._cores_per_job
            result = run_job(
                job,
                self._settings,
                make_manager=lambda: self._kernels.make_manager(environment),
                stopping=self._stopping,
                on_cell_done=lambda: self._listener.on_cell_done(job),
            )
        finally:
            if gpu:
                self._free_gpus.put(gpu)
        return replace(result, gpu=gpu, host=socket.gethostname(), versions=versions())

    def result(self, job: Job, future: Future[RunResult]) -> RunResult:
        """Return the result of a finished job."""
        return future.result()

    def stop(self) -> None:
        """Kill all kernels and do not start new jobs."""
        self._stopping.set()
        self._kernels.kill_all()

    def close(self) -> None:
        """Stop, and wait for the kernels, their server and the threads to end."""
        self.stop()
        self._kernels.close()
        self._threads.shutdown()


class ClusterExecutor:
    """Executes jobs on a Dask cluster, one job per worker thread. The listener is not notified."""

    def __init__(self, settings: ExecutionSettings, listener: JobListener) -> None:
        self._client = connect(settings.cluster)
        self._batch = (uuid.uuid4().hex, settings)
        self._dask_executor = self._client.get_executor(pure=False)

    def submit(self, job: Job) -> Future[tuple[RunResult, bytes]]:
        """Execute the job on any worker."""
        notebook = job.notebook.read_bytes()
        return self._dask_executor.submit(_execute_on_worker, self._batch, job, notebook)

    def result(self, job: Job, future: Future[tuple[RunResult, bytes]]) -> RunResult:
        """Return the result of a finished job and write its executed notebook to `job.output`."""
        if error := future.exception():
            # For example `KilledWorker`: several workers died, possibly because of their memory.
            text = f"{type(error).__name__}: {error}. The logs of the Dask workers show the cause."
            return RunResult(job, Status.COULD_NOT_RUN, error=text)
        result, notebook = future.result()
        if notebook:
            write_atomically(job.output, notebook)
        return replace(result, job=job)

    def stop(self) -> None:
        """Kill the kernels of this batch on all workers and do not start new jobs."""
        self._client.run(_stop_on_worker, self._batch)

    def close(self) -> None:
        """Stop the kernels, and remove the state of this batch from the workers."""
        with self._client:
            self._client.run(_close_on_worker, self._batch)


# The following functions run on the workers, which keep one `LocalExecutor` for each batch.
_Batch = tuple[str, ExecutionSettings]
_lock = threading.Lock()
_executors: dict[str, LocalExecutor] = {}


def _get_executor(batch: _Batch) -> LocalExecutor:
    name, settings = batch
    with _lock:
        if name not in _executors:
            _executors[name] = LocalExecutor(settings, JobListener())
        return _executors[name]


def _execute_on_worker(batch: _Batch, job: Job, notebook: bytes) -> tuple[RunResult, bytes]:
    """Execute `notebook` on the worker; return the result and the executed notebook."""
    from distributed import get_worker

    executor = _get_executor(batch)
    # Dask removes this folder later if the worker is killed.
    with tempfile.TemporaryDirectory(dir=get_worker().local_directory) as name:
        scratch = Path(name)
        notebook_file, executed_file = scratch / "given.ipynb", scratch / "executed.ipynb"
        notebook_file.write_bytes(notebook)
        folder = job.folder if job.folder.is_dir() else scratch / "files"
        folder.mkdir(exist_ok=True)
        local_job = replace(job, notebook=notebook_file, output=executed_file, folder=folder)
        # Use an empty context. In Dask's context, a task could get another task's event loop.
        result = contextvars.Context().run(executor.execute, local_job)
        return result, executed_file.read_bytes() if executed_file.exists() else b""


def _stop_on_worker(batch: _Batch) -> None:
    _get_executor(batch).stop()


def _close_on_worker(batch: _Batch) -> None:
    if batch[0] in _executors:
        _executors.pop(batch[0]).close()
