"""Executes jobs on the workers of a Dask cluster; what they make comes back over the network.

A worker needs this package, and neither the course's files nor a disk in common with the batch:
the notebook travels with the job. What a notebook writes into its folder besides stays with the
worker, and is thrown away, unless the worker sees the batch's own folder.
"""

from __future__ import annotations

import contextvars
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from distributed import Client, Future, as_completed
from distributed.scheduler import KilledWorker

from course.course_folder import CourseError
from course.execution.engine import Here, Stopping, Watcher, Workers, collect
from course.execution.runner import FAILED, NOT_RUN, Job, Limits, Outcome
from course.execution.warm_kernels import WarmKernels
from course.files import write_atomically

Done = tuple[Outcome, bytes]


def run_jobs(
    jobs: Sequence[Job], watcher: Watcher, workers: Workers, limits: Limits
) -> list[Outcome]:
    """As `engine.run_jobs`, on a cluster: as many at once as its workers have threads.

    Raises:
        CourseError: there is no scheduler at the address.
    """
    try:
        client = Client(workers.cluster, timeout=20, set_as_default=False)
    except (OSError, ValueError) as error:
        raise CourseError(
            f"No Dask scheduler answers at {workers.cluster} ({error}). Start one: dask scheduler"
        ) from None

    def stop_everywhere(group: str) -> None:
        client.run(stop, group)

    stopping = Stopping(kill=stop_everywhere)
    with client:
        try:
            with stopping:
                return _run(client, jobs, watcher, workers, limits, stopping)
        finally:
            client.run(forget, stopping.group)


def _run(
    client: Client,
    jobs: Sequence[Job],
    watcher: Watcher,
    workers: Workers,
    limits: Limits,
    stopping: Stopping,
) -> list[Outcome]:
    futures = {
        client.submit(
            perform,
            job,
            job.notebook.read_bytes(),
            limits,
            workers,
            stopping.group,
            key=f"{job.name}-{stopping.group}",
            pure=False,
        ): job
        for job in jobs
    }
    try:
        return collect(jobs, _arriving(client, futures), watcher, stopping)
    except BaseException:
        # Of this machine, a full disk for instance: the workers are to stop as well.
        stopping.event.set()
        raise


def _arriving(client: Client, futures: dict[Future, Job]) -> Iterator[Outcome]:
    """Outcomes as they come, with the executed notebooks put where the jobs want them."""
    for future in as_completed(list(futures), loop=client.loop):
        job, error = futures.pop(future), future.exception()
        if error is None:
            outcome, executed = future.result()
            if executed:
                write_atomically(job.output, executed)
            yield replace(outcome, job=job)
        elif isinstance(error, KilledWorker):
            yield Outcome(job, FAILED, error="Several workers were lost while they ran this job.")
        elif future.cancelled():
            yield Outcome(job, NOT_RUN)
        else:
            yield Outcome(job, FAILED, error=f"{type(error).__name__}: {error}")
        future.release()


# What follows is called on the workers. A worker keeps one server of kernels for each set of
# modules, and knows the batches that were stopped.
_keep = threading.Lock()
_servers: dict[tuple[str, ...], WarmKernels] = {}
_stoppings: dict[str, Stopping] = {}
_heres: dict[str, Here] = {}


def perform(job: Job, notebook: bytes, limits: Limits, workers: Workers, group: str) -> Done:
    """Execute a job whose notebook is given, and return the executed notebook with the outcome."""
    here = _here(workers, group)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="course-")))
        given, made = scratch / "given.ipynb", scratch / "made.ipynb"
        given.write_bytes(notebook)
        folder = job.folder
        if not folder.is_dir():
            folder = scratch / "files"
            folder.mkdir()
        local = replace(job, notebook=given, output=made, folder=folder)
        # Dask hands its own context to a task, and with it perhaps the event loop of another one.
        outcome = contextvars.Context().run(here.execute, local, limits, lambda: None)
        return outcome, made.read_bytes() if made.exists() else b""


def stop(group: str) -> None:
    """End the kernels of one batch on this worker, and begin no more of its jobs."""
    with _keep:
        stopping = _stoppings.get(group) or _begin(group)
    stopping.event.set()


def forget(group: str) -> None:
    """The batch is over: keep nothing of it on this worker but the server of kernels."""
    with _keep:
        _heres.pop(group, None)
        if stopping := _stoppings.pop(group, None):
            stopping.__exit__()


def _here(workers: Workers, group: str) -> Here:
    with _keep:
        if group not in _heres:
            warm = None
            if workers.warm is not None:
                warm = _servers.get(workers.warm) or WarmKernels(workers.warm)
                _servers[workers.warm] = warm
            _heres[group] = Here(workers, warm, _stoppings.get(group) or _begin(group))
        return _heres[group]


def _begin(group: str) -> Stopping:
    # Not in the main thread of the worker, so it takes none of its signals.
    _stoppings[group] = Stopping(group).__enter__()
    return _stoppings[group]
