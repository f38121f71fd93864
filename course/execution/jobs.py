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
    # The machine's fault, not the notebook's: it may well pass when it is run again.
    COULD_NOT_RUN = "could not run"
    STOPPED = "stopped"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Job:
    """One notebook to execute.

    Attributes:
        name: unique among the jobs that run together.
        notebook: the file to execute.
        output: where the executed notebook goes.
        folder: the kernel's working folder, which relative paths among the parameters refer to.
        parameters: names and values.
        own_folder: whether `folder` belongs to this job alone and is emptied before a retry.
        alone: whether no other job may run at the same time, because this one measures time.
    """

    name: str
    notebook: Path
    output: Path
    folder: Path
    parameters: dict[str, object] = field(default_factory=dict)
    own_folder: bool = False
    alone: bool = False


@dataclass(frozen=True)
class RunLimits:
    """Seconds that a cell and a whole run may take, and how often a run is tried again."""

    cell: int | None = None
    run: int | None = None
    retries: int = 0


@dataclass(frozen=True)
class RunResult:
    """How one notebook ended.

    Attributes:
        cell: index in the executed notebook of the cell that did not pass; None if all did.
        cell_id: that cell's id.
        source: that cell's code.
        error: what happened.
        note: something to know about a run whatever its status, for example processes that it
            left running.
        started: date and time in ISO format.
        host: name of the machine that executed it.
        gpu: the GPU that was reserved for it; empty if there is none.
        versions: of Python and of the packages that results depend on.
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
