"""The resource limits of a submission, and the reasons for stopping it."""

from __future__ import annotations

import enum
from dataclasses import dataclass


@dataclass(frozen=True)
class SandboxLimits:
    """The limits of one submission. Time spent waiting for a busy CPU does not count."""

    cell_seconds: float = 30
    grace: float = 20  # additional seconds before a cell's process is killed
    seconds: float = 300
    memory_bytes: int = 3 << 30
    processes: int = 24
    disk_bytes: int = 64 << 20
    max_output_bytes: int = 32 << 20


class StopReason(enum.StrEnum):
    """The reason for stopping a submission early."""

    TIME = "time"
    MEMORY = "memory"
    PROCESSES = "processes"
    OUTPUT = "output"
    ENDED = "ended"
    KILLED = "killed"
    BUSY = "busy"
    FAILED = "failed"

    @property
    def depends_on_machine(self) -> bool:
        """Whether the result might be different on a less busy machine."""
        return self in ("time", "memory", "killed", "busy")


@dataclass(frozen=True)
class Stop:
    """A reason, and a text that completes the message "its code ..."."""

    reason: StopReason
    text: str
