"""Executes jobs on this machine, with one thread per running job."""

from __future__ import annotations

import os
import queue
import socket
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from course.execution import gpus
from course.execution.jobs import Job, RunLimits, RunResult, Status
from course.execution.kernels import Kernels
from course.execution.progress import JobListener
from course.execution.provenance import versions
from course.execution.runner import run_job


@dataclass(frozen=True)
class WorkerConfig:
    """The number of parallel jobs, and the machine, kernels and GPUs that execute them.

    Attributes:
        jobs: number of parallel jobs.
        cluster: address of a Dask scheduler; None for this machine.
        preload: modules to import before kernels are forked; None starts each kernel as a new
            process.
        gpus: names as in CUDA_VISIBLE_DEVICES; None for all GPUs of the machine.
        jobs_per_gpu: number of jobs that share a GPU.
    """

    jobs: int = 1
    cluster: str | None = None
    preload: tuple[str, ...] | None = None
    gpus: tuple[str, ...] | None = ()
    jobs_per_gpu: int = 1


class LocalExecutor:
    """Executes jobs in threads of this process, each with its own kernel and GPU."""

    def __init__(self, workers: WorkerConfig) -> None:
        self._stopped = threading.Event()
        self._kernels = Kernels(workers.preload)
        # Parallel jobs share the cores.
        cores = os.cpu_count() or 1
        self._cores_per_job = str(max(1, cores // workers.jobs)) if workers.jobs > 1 else ""
        # Assign one job to each GPU before assigning a second job to any GPU.
        names = gpus.visible_gpu_ids() if workers.gpus is None else workers.gpus
        self._gpus = [*names] * workers.jobs_per_gpu
        self._free_gpus: queue.Queue[str] = queue.Queue()
        for name in self._gpus:
            self._free_gpus.put(name)
        self._threads = ThreadPoolExecutor(min(workers.jobs, len(self._gpus) or workers.jobs))

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped.is_set()

    def submit(self, job: Job, limits: RunLimits, listener: JobListener) -> Future[RunResult]:
        """Execute the job when a thread is free."""
        return self._threads.submit(self.execute, job, limits, listener)

    def execute(self, job: Job, limits: RunLimits, listener: JobListener) -> RunResult:
        """Execute one job as soon as a GPU is free."""
        if self.stopped:
            return RunResult(job, Status.NOT_RUN)
        gpu = self._free_gpus.get() if self._gpus else ""
        try:
            listener.on_job_started(job)
            environment = {"CUDA_VISIBLE_DEVICES": gpu} if gpu else {}
            if self._cores_per_job and not job.exclusive and "OMP_NUM_THREADS" not in os.environ:
                environment["OMP_NUM_THREADS"] = self._cores_per_job
            result = run_job(
                job,
                limits=limits,
                kernels=self._kernels.manager_class(environment),
                stopping=self._stopped,
                on_cell_done=lambda: listener.on_cell_done(job),
            )
        finally:
            if gpu:
                self._free_gpus.put(gpu)
        return replace(result, gpu=gpu, host=socket.gethostname(), versions=versions())

    def result(self, job: Job, future: Future[RunResult]) -> RunResult:
        """Return the result of a finished job.

        Raises:
            OSError: the disk is full.
        """
        return future.result()

    def stop(self) -> None:
        """Kill all kernels and do not start new jobs."""
        self._stopped.set()
        self._kernels.kill_all()

    def close(self) -> None:
        """Stop, and wait for the kernels, their server and the threads to end."""
        self.stop()
        self._kernels.close()
        self._threads.shutdown()
