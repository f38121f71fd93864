"""Jobs, their limits, and their results."""

from __future__ import annotations

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
    """One notebook to execute.

    Attributes:
        name: unique among the jobs that run together.
        notebook: the file to execute.
        output: where the executed notebook is written.
        folder: the kernel's working directory. Relative paths in parameters are relative to it.
        parameters: parameter values by name.
        own_folder: whether `folder` belongs to this job alone and is emptied before a retry.
        exclusive: whether the job must run alone because it measures time.
    """

    name: str
    notebook: Path
    output: Path
    folder: Path
    parameters: dict[str, object] = field(default_factory=dict)
    own_folder: bool = False
    exclusive: bool = False


@dataclass(frozen=True)
class RunLimits:
    """Time limits per cell and per run, in seconds, and the maximum number of retries."""

    cell: int | None = None
    run: int | None = None
    retries: int = 0


@dataclass(frozen=True)
class RunResult:
    """The result of executing one notebook.

    Attributes:
        cell: index of the cell that did not pass, without counting the parameters cell that
            papermill adds; None if all cells passed.
        cell_id: that cell's id.
        source: that cell's code.
        error: the error message.
        note: additional information, for example about processes that the notebook left running.
        started: date and time in ISO format.
        host: name of the machine that executed the notebook.
        gpu: the GPU that was assigned to the job; empty if there is none.
        versions: versions of Python and of the packages that affect the results.
    """

    job: Job
    status: Status
    seconds: float = 0.0
    cell: int | None = None
    cell_id: str = ""
    source: str = ""
    error: str = ""
    note: str = ""
    attempts: int = 1
    started: str = ""
    host: str = ""
    gpu: str = ""
    versions: dict[str, str] = field(default_factory=dict)
