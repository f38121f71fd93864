"""Read and limit the memory of this process, on systems that support it."""

import contextlib
from pathlib import Path

import torch

import simulated_cuda

try:
    import resource
except ImportError:  # Windows
    resource = None

_STATM = Path("/proc/self/statm")
_MEMINFO = Path("/proc/meminfo")


def bytes_in_use() -> int:
    """Return the memory that this process uses, in bytes; 0 if the system does not report it."""
    if resource is None or not _STATM.exists():
        return 0
    return int(_STATM.read_text().split()[1]) * resource.getpagesize()


def free_bytes() -> int:
    """Return the available memory, in bytes; a very large number if unknown."""
    if not _MEMINFO.exists():
        return 1 << 60
    with contextlib.suppress(StopIteration, ValueError):
        lines = _MEMINFO.read_text().splitlines()
        return 1024 * int(
            next(line for line in lines if line.startswith("MemAvailable")).split()[1]
        )
    return 1 << 60


def limit_address_space(extra: int) -> tuple[int, int] | None:
    """Limit the address space to `extra` bytes beyond its current size; return the previous limit.

    With a real GPU, no limit is set: CUDA reserves far more address space than memory.
    """
    real_gpu = torch.cuda.is_available() and not simulated_cuda.is_enabled()
    if resource is None or not _STATM.exists() or real_gpu:
        return None
    before = resource.getrlimit(resource.RLIMIT_AS)
    size = int(_STATM.read_text().split()[0]) * resource.getpagesize()
    current_limits = [limit for limit in before if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([size + extra, *current_limits]), before[1]))
    return before


def restore_address_space(before: tuple[int, int] | None) -> None:
    """Restore the limit that `limit_address_space` returned."""
    if before is not None:
        resource.setrlimit(resource.RLIMIT_AS, before)
