"""Jobs, their limits, and their results."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class Status(StrEnum):
    """How the execution of a notebook ended."""

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    KERNEL_DIED = "kernel died"
    # Caused by the machine, not by the notebook, which may pass when it is run again.
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
        folder: the kernel's working directory; relative paths in the parameters start there.
        parameters: parameter values by name.
        own_folder: whether `folder` belongs to this job alone and is emptied before a retry.
        exclusive: whether no other job may run at the same time, because this one measures time.
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
    """Time limits per cell and per run, in seconds, and how often a failed run is retried."""

    cell: int | None = None
    run: int | None = None
    retries: int = 0


@dataclass(frozen=True)
class RunResult:
    """The result of executing one notebook.

    Attributes:
        cell: index of the cell that did not pass, in the notebook as it was before papermill added
            a cell with the parameters; None if all did.
        cell_id: that cell's id.
        source: that cell's code.
        error: the error message.
        note: a note that does not depend on the status, for example about processes that the
            notebook left running.
        started: date and time in ISO format.
        host: name of the machine that executed it.
        gpu: the GPU that was reserved for it; empty if there is none.
        versions: versions of Python and of the packages that results depend on.
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
