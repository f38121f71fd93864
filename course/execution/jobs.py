"""Jobs, their limits, their results, and the listener that receives their progress."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class Status(StrEnum):
    """The result status of a notebook's execution."""

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    KERNEL_DIED = "kernel died"
    # Caused by the machine, not the notebook. A rerun may pass.
    COULD_NOT_RUN = "could not run"
    STOPPED = "stopped"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Job:
    """One notebook to execute. Its name is unique among the jobs that run together."""

    name: str
    notebook: Path
    output: Path  # where the executed notebook is written
    folder: Path  # the kernel's working directory; relative paths in parameters are relative to it
    parameters: dict[str, object] = field(default_factory=dict)
    own_folder: bool = False  # whether `folder` belongs to this job and is emptied before a retry
    exclusive: bool = False  # whether the job must run alone because it measures time


@dataclass(frozen=True)
class ExecutionSettings:
    """The number of parallel jobs, the machine, kernels and GPUs that execute them, and limits."""

    jobs: int | None = 1  # None in a plan: `jobs_per_gpu` for each GPU, or 1 without GPUs
    cluster: str | None = None  # address of a Dask scheduler; None for this machine
    preload: tuple[str, ...] | None = None  # modules of the kernel server; None for fresh kernels
    gpus: tuple[str, ...] | None = ()  # as in CUDA_VISIBLE_DEVICES; None for all of the machine
    jobs_per_gpu: int = 1
    cell_limit: int | None = None  # seconds per cell; None for no limit
    run_limit: int | None = None  # seconds per run; None for no limit
    retries: int = 0  # maximum number of retries of a run that does not pass


@dataclass(frozen=True)
class RunResult:
    """The result of executing one notebook, with the id and the code of the failing cell."""

    job: Job
    status: Status
    seconds: float = 0.0
    cell: int | None = None  # index of the failing cell, without the cell that papermill adds
    cell_id: str = ""
    source: str = ""
    error: str = ""
    note: str = ""  # for example, about processes that the notebook left running
    attempts: int = 1
    started: str = ""  # date and time in ISO format
    host: str = ""  # name of the machine that executed the notebook
    gpu: str = ""  # the GPU that was assigned to the job, if any
    versions: dict[str, str] = field(default_factory=dict)


class JobListener:
    """Receives the progress of jobs: of cells only from this machine, and in worker threads."""

    def on_job_started(self, job: Job) -> None:
        """Called before a job starts its kernel."""

    def on_cell_done(self, job: Job) -> None:
        """Called after a code cell of the job was executed, even if it failed."""

    def on_job_finished(self, result: RunResult) -> None:
        """Called when a job has ended with any status, unless it was stopped."""
