"""Executes jobs on this machine: a thread for each job that runs, which waits for its kernel."""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from course.execution import gpus
from course.execution.jobs import Job, RunLimits, RunResult, Status
from course.execution.kernels import Kernels
from course.execution.progress import Watcher
from course.execution.provenance import versions
from course.execution.runner import run_job


@dataclass(frozen=True)
class Workers:
    """Where jobs run: how many at once, on which cluster, with which kernels and GPUs.

    Attributes:
        jobs: how many run at once.
        cluster: address of a Dask scheduler; None for this machine.
        preload: modules that are imported before kernels are forked; None starts each kernel as a
            new process.
        gpus: names as in CUDA_VISIBLE_DEVICES; None for all GPUs of the machine.
        share: how many jobs use one GPU at a time.
    """

    jobs: int = 1
    cluster: str | None = None
    preload: tuple[str, ...] | None = None
    gpus: tuple[str, ...] | None = ()
    share: int = 1


class Machine:
    """Executes one job at a time per calling thread, each with its own kernel and GPU."""

    def __init__(self, workers: Workers) -> None:
        self.stopped = threading.Event()
        self._kernels = Kernels(workers.preload)
        # Jobs that run side by side share the cores.
        cores = os.cpu_count() or 1
        self._threads = str(max(1, cores // workers.jobs)) if workers.jobs > 1 else ""
        names = gpus.visible() if workers.gpus is None else workers.gpus
        self.places: queue.Queue[str] | None = None
        if names:
            self.places = queue.Queue(maxsize=len(names) * workers.share)
            # Each GPU gets one job before any gets a second.
            for name in [*names] * workers.share:
                self.places.put(name)

    def execute(
        self, job: Job, limits: RunLimits, on_cell_done: Callable[[], None] = lambda: None
    ) -> RunResult:
        """Execute one job as soon as a GPU is free."""
        with self._gpu() as gpu:
            environment = {"CUDA_VISIBLE_DEVICES": gpu} if gpu else {}
            if self._threads and not job.alone and "OMP_NUM_THREADS" not in os.environ:
                environment["OMP_NUM_THREADS"] = self._threads
            result = run_job(
                job,
                limits=limits,
                kernels=self._kernels.manager_class(environment),
                stopping=self.stopped,
                on_cell_done=on_cell_done,
            )
        return replace(result, gpu=gpu, host=socket.gethostname(), versions=versions())

    def stop(self) -> None:
        """Kill all kernels and start no further job."""
        self.stopped.set()
        self._kernels.end_all()

    def close(self) -> None:
        """End the kernels and their server."""
        self.stop()
        self._kernels.close()

    @contextlib.contextmanager
    def _gpu(self) -> Iterator[str]:
        if self.places is None:
            yield ""
            return
        gpu = self.places.get()
        try:
            yield gpu
        finally:
            self.places.put(gpu)


class LocalExecutor:
    """Executes jobs in threads of this process."""

    def __init__(self, workers: Workers) -> None:
        self._machine = Machine(workers)
        places = self._machine.places
        at_once = workers.jobs if places is None else min(workers.jobs, places.maxsize)
        self._threads = ThreadPoolExecutor(at_once)

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._machine.stopped.is_set()

    def submit(self, job: Job, limits: RunLimits, watcher: Watcher) -> Future[RunResult]:
        """Execute the job when a thread is free."""
        return self._threads.submit(self._execute, job, limits, watcher)

    def _execute(self, job: Job, limits: RunLimits, watcher: Watcher) -> RunResult:
        if self.stopped:
            return RunResult(job, Status.NOT_RUN)
        watcher.began(job)
        return self._machine.execute(job, limits, lambda: watcher.cell_done(job))

    def result(self, job: Job, future: Future[RunResult]) -> RunResult:
        """The result of a job that has ended.

        Raises:
            OSError: the disk is full.
        """
        return future.result()

    def stop(self) -> None:
        """Kill all kernels and start no further job."""
        self._machine.stop()

    def close(self) -> None:
        """Stop, and wait for the threads."""
        self._machine.close()
        self._threads.shutdown()
