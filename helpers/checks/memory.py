"""How much memory the process uses and may use, where the system reports it."""

import contextlib
from pathlib import Path

import torch

import simulated_cuda

try:
    import resource
except ImportError:  # Windows
    resource = None

_PROCESS = Path("/proc/self/statm")
_MACHINE = Path("/proc/meminfo")


def bytes_in_use() -> int:
    """Return the bytes of memory that this process uses; 0 if the system does not report it."""
    if resource is None or not _PROCESS.exists():
        return 0
    return int(_PROCESS.read_text().split()[1]) * resource.getpagesize()


def free_bytes() -> int:
    """Return the bytes of memory that the machine has left."""
    if not _MACHINE.exists():
        return 1 << 60
    with contextlib.suppress(StopIteration, ValueError):
        lines = _MACHINE.read_text().splitlines()
        return 1024 * int(
            next(line for line in lines if line.startswith("MemAvailable")).split()[1]
        )
    return 1 << 60


def limit_addresses(more: int) -> tuple[int, int] | None:
    """Limit the process to `more` bytes of additional addresses; return the previous limit.

    With a real GPU there is no limit: CUDA reserves far more addresses than memory.
    """
    real_gpu = torch.cuda.is_available() and not simulated_cuda.is_enabled()
    if resource is None or not _PROCESS.exists() or real_gpu:
        return None
    before = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(_PROCESS.read_text().split()[0]) * resource.getpagesize()
    others = [limit for limit in before if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([taken + more, *others]), before[1]))
    return before


def restore_addresses(before: tuple[int, int] | None) -> None:
    """Restore the limit that `limit_addresses` returned."""
    if before is not None:
        resource.setrlimit(resource.RLIMIT_AS, before)
