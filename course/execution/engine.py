"""Executes notebooks in parallel, on this machine or on a Dask cluster."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed

from course.execution.jobs import Job, RunLimits, RunResult, Status
from course.execution.local import LocalExecutor, WorkerConfig
from course.execution.progress import JobListener


def run_jobs(
    jobs: Sequence[Job],
    listener: JobListener,
    *,
    workers: WorkerConfig | None = None,
    limits: RunLimits | None = None,
) -> list[RunResult]:
    """Execute all jobs and return their results in the order of the jobs.

    A job that fails does not stop the others. Ctrl-C and SIGTERM kill the kernels: running jobs get
    the status `STOPPED`, and jobs that have not started get `NOT_RUN`. A second Ctrl-C interrupts
    as usual. Exclusive jobs run last, one at a time.

    Raises:
        CourseError: the Dask scheduler cannot be reached.
        OSError: the disk is full, or the listener could not save a result. The remaining jobs are
            stopped.
    """
    workers, limits = workers or WorkerConfig(), limits or RunLimits()
    if workers.cluster is None:
        executor = LocalExecutor(workers)
    else:
        # Imported here because Dask is an optional dependency and takes a second to import.
        from course.execution.cluster import ClusterExecutor

        executor = ClusterExecutor(workers)
    results: dict[str, RunResult] = {}
    failure: Exception | None = None
    with contextlib.closing(executor), _on_interrupt(executor.stop):
        parallel_jobs = [job for job in jobs if not job.exclusive]
        for group in [parallel_jobs, *([job] for job in jobs if job.exclusive)]:
            if executor.stopped:
                break
            futures = {executor.submit(job, limits, listener): job for job in group}
            for future in as_completed(futures):
                job = futures[future]
                try:
                    result = executor.result(job, future)
                    results[job.name] = result
                    if result.status not in (Status.STOPPED, Status.NOT_RUN):
                        listener.on_job_finished(result)
                except Exception as error:
                    # Wait for the other jobs to end before raising the first error.
                    failure = failure or error
                    executor.stop()
    if failure is not None:
        raise failure
    return [results.get(job.name, RunResult(job, Status.NOT_RUN)) for job in jobs]


@contextlib.contextmanager
def _on_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` in a thread at the first Ctrl-C or SIGTERM; later ones interrupt as usual."""
    previous_handlers: dict[int, object] = {}

    def restore() -> None:
        while previous_handlers:
            signal.signal(*previous_handlers.popitem())

    def handle(*_: object) -> None:
        restore()
        # The signal may have interrupted code that holds a lock.
        threading.Thread(target=stop).start()

    # Python can set signal handlers only in the main thread.
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            previous_handlers[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        restore()
