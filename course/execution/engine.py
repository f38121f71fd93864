"""Executes many notebooks at once: the one engine behind `course run` and `course batch`.

joblib hands the jobs out, to threads of this process or to the workers of a Dask cluster. Threads
are enough on one machine: the work is done by the notebooks' kernels, which are processes, and a
thread does nothing but wait for its own.
"""

from __future__ import annotations

import contextlib
import queue
import signal
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import joblib

from course.execution import gpus
from course.execution.kernels import kernel_class, kill_kernels
from course.execution.provenance import host_name, versions
from course.execution.runner import NOT_RUN, STOPPED, Job, Limits, Outcome, run_job
from course.execution.warm_kernels import WarmKernels


class Watcher:
    """Is told how the jobs get on; this one does nothing.

    The first two calls come from threads, and on a cluster not at all.
    """

    def began(self, job: Job) -> None:
        """A job starts its kernel."""

    def cell_done(self, job: Job) -> None:
        """A code cell of the job got through."""

    def ended(self, outcome: Outcome) -> None:
        """A job ended by itself, well or not."""


@dataclass(frozen=True)
class Workers:
    """Where jobs run: how many at once, on which cluster, with which kernels and GPUs.

    `cluster` is the address of a Dask scheduler, None for this machine. `warm` names the modules
    that kernels are forked with; None starts each kernel anew. `gpus` and `share` are the plan's.
    """

    jobs: int = 1
    cluster: str | None = None
    warm: tuple[str, ...] | None = None
    gpus: tuple[str, ...] | None = ()
    share: int = 1


def run_jobs(
    jobs: Sequence[Job],
    watcher: Watcher,
    *,
    workers: Workers | None = None,
    limits: Limits | None = None,
) -> list[Outcome]:
    """Execute all jobs and return their outcomes in the order of the jobs.

    Whatever goes wrong in one of them, the others run. Ctrl-C, or the end that a batch system
    asks for, kills the kernels that run; their jobs are then `STOPPED`, those that had not begun
    `NOT_RUN`. An error of the watcher's, from a full disk for instance, stops the rest too.
    """
    workers, limits = workers or Workers(), limits or Limits()
    if workers.cluster is not None:
        from course.execution import cluster

        return cluster.run_jobs(jobs, watcher, workers, limits)
    with _warm_kernels(workers.warm) as warm, Stopping() as stopping:
        here = Here(workers, warm, stopping)

        def one(job: Job) -> Outcome:
            if stopping.event.is_set():
                return Outcome(job, NOT_RUN)
            watcher.began(job)
            return here.execute(job, limits, lambda: watcher.cell_done(job))

        slots = here.slots
        at_once = workers.jobs if slots is None else min(workers.jobs, slots.maxsize)
        parallel = joblib.Parallel(
            n_jobs=at_once,
            backend="threading",
            return_as="generator_unordered",
            pre_dispatch=at_once,
            batch_size=1,
        )
        return collect(jobs, parallel(joblib.delayed(one)(job) for job in jobs), watcher, stopping)


def collect(
    jobs: Sequence[Job], outcomes: Iterable[Outcome], watcher: Watcher, stopping: Stopping
) -> list[Outcome]:
    """Take the outcomes as they come, tell the watcher, and put them into the jobs' order."""
    found: dict[str, Outcome] = {}
    trouble: Exception | None = None
    for outcome in outcomes:
        found[outcome.job.name] = outcome
        if outcome.status in (STOPPED, NOT_RUN):
            continue
        try:
            watcher.ended(outcome)
        except Exception as error:
            # The rest has to end in order before the first error goes on upward.
            trouble = trouble or error
            stopping.event.set()
    if trouble is not None:
        raise trouble
    return [found.get(job.name, Outcome(job, NOT_RUN)) for job in jobs]


class Here:
    """Executes jobs in this process, each with a kernel and, if there are any, a GPU of its own."""

    def __init__(self, workers: Workers, warm: WarmKernels | None, stopping: Stopping) -> None:
        self._warm, self._stopping = warm, stopping
        names = gpus.visible() if workers.gpus is None else workers.gpus
        self.slots: queue.Queue[str] | None = None
        if names:
            self.slots = queue.Queue(maxsize=len(names) * workers.share)
            # One run on each before any gets a second.
            for name in [*names] * workers.share:
                self.slots.put(name)

    def execute(self, job: Job, limits: Limits, on_cell_done: Callable[[], None]) -> Outcome:
        """Execute one job when it has its GPU."""
        with self._gpu() as gpu:
            kernels = kernel_class(
                warm=self._warm,
                environment={"CUDA_VISIBLE_DEVICES": gpu} if gpu else {},
                group=self._stopping.group,
            )
            outcome = run_job(
                job,
                limits=limits,
                kernels=kernels,
                stopping=self._stopping.event,
                on_cell_done=on_cell_done,
            )
        return replace(outcome, gpu=gpu, host=host_name(), versions=versions())

    @contextlib.contextmanager
    def _gpu(self) -> Iterator[str]:
        if self.slots is None:
            yield ""
            return
        gpu = self.slots.get()
        try:
            yield gpu
        finally:
            self.slots.put(gpu)


@contextlib.contextmanager
def _warm_kernels(modules: Sequence[str] | None) -> Iterator[WarmKernels | None]:
    if modules is None:
        yield None
        return
    warm = WarmKernels(modules)
    try:
        yield warm
    finally:
        warm.close()


class Stopping:
    """Turns Ctrl-C and SIGTERM into an event, and kills the kernels once it is set.

    A second signal is not waited for: it interrupts as usual.
    """

    def __init__(self, group: str = "", kill: Callable[[str], None] = kill_kernels) -> None:
        self.event = threading.Event()
        self.group = group or uuid.uuid4().hex
        self._end_kernels = kill
        self._over = threading.Event()
        self._killer = threading.Thread(target=self._kill, daemon=True)
        self._before: dict[int, object] = {}

    def __enter__(self) -> Stopping:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        self._killer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.event.is_set():
            self._end_kernels(self.group)
        self._over.set()
        self.event.set()
        self._killer.join()
        self._restore()

    def _note(self, *_: object) -> None:
        self.event.set()
        self._restore()

    def _restore(self) -> None:
        while self._before:
            signal.signal(*self._before.popitem())

    def _kill(self) -> None:
        self.event.wait()
        # Again and again, for kernels that were only starting the first time.
        while not self._over.is_set():
            self._end_kernels(self.group)
            self._over.wait(0.3)
