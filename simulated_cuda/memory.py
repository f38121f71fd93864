"""Memory accounting of each simulated device, with the numbers of PyTorch's caching allocator.

Sizes are in bytes. This is only accounting: the tensors themselves are in the CPU's memory.
"""

from __future__ import annotations

import re

import torch

from . import messages

# The caching allocator allocates multiples of 512 bytes, from segments that it requests from the
# driver: of 2 MiB for blocks up to 1 MiB, 20 MiB for blocks below 10 MiB, and multiples of 2 MiB
# for larger ones (c10/cuda/CUDACachingAllocator.cpp in PyTorch).
BLOCK = 512
_CPU_IS_FULL = re.compile(r"you tried to allocate (\d+) bytes")
_SMALL, _SMALL_SEGMENT = 1 << 20, 2 << 20
_LARGE, _LARGE_SEGMENT = 10 << 20, 20 << 20


def rounded(nbytes: int) -> int:
    """The size of the block that the allocator uses for `nbytes` bytes."""
    return (nbytes + BLOCK - 1) // BLOCK * BLOCK


def _segment(block: int) -> int:
    if block <= _SMALL:
        return _SMALL_SEGMENT
    if block < _LARGE:
        return _LARGE_SEGMENT
    return (block + _SMALL_SEGMENT - 1) // _SMALL_SEGMENT * _SMALL_SEGMENT


class DeviceMemory:
    """The memory of one simulated device.

    `allocated` is the memory of living tensors; `reserved` is the memory requested from the device
    and not yet returned by `empty_cache`. Blocks have no addresses: any tensor can use any reserved
    byte, so there is no fragmentation.
    """

    def __init__(self, index: int, total: int) -> None:
        self.index = index
        self.total = total
        # Less than `total` after set_per_process_memory_fraction.
        self.limit = total
        self.allocated = self.reserved = self.requested = 0
        self.peak_allocated = self.peak_reserved = self.peak_requested = 0
        self.blocks = self.peak_blocks = 0
        self.freed_bytes = self.freed_blocks = self.out_of_memory_errors = 0

    def claim(self, nbytes: int) -> None:
        """Allocate `nbytes` bytes, or raise `torch.OutOfMemoryError`."""
        block = rounded(nbytes)
        allocated = self.allocated + block
        if allocated > self.reserved:
            self._reserve(nbytes, block, allocated)
        self.allocated = allocated
        self.requested += nbytes
        self.blocks += 1
        if allocated > self.peak_allocated:
            self.peak_allocated = allocated
        if self.requested > self.peak_requested:
            self.peak_requested = self.requested
        if self.blocks > self.peak_blocks:
            self.peak_blocks = self.blocks

    def check(self, nbytes: int) -> None:
        """Raise `torch.OutOfMemoryError` if `nbytes` bytes would not fit; allocate nothing."""
        if self.allocated + rounded(nbytes) > self.limit:
            self.refuse(nbytes)

    def refuse(self, nbytes: int) -> None:
        """Raise the `torch.OutOfMemoryError` for an allocation of `nbytes` bytes."""
        self.out_of_memory_errors += 1
        # The allocator returns unused memory to the device before it gives up.
        self.empty_cache()
        raise torch.OutOfMemoryError(
            messages.out_of_memory(
                nbytes, self.index, self.total, self.total - self.reserved, self.allocated,
                self.reserved - self.allocated,
            )
        )  # fmt: skip

    def explain_failed_allocation(self, error: RuntimeError) -> None:
        """Raise the device's out-of-memory error if `error` is the CPU's."""
        wanted = _CPU_IS_FULL.search(str(error))
        if wanted:
            self.refuse(int(wanted[1]))

    def release(self, nbytes: int) -> None:
        """Free `nbytes` bytes; they stay reserved, as in the real allocator."""
        block = rounded(nbytes)
        self.allocated -= block
        self.requested -= nbytes
        self.blocks -= 1
        self.freed_bytes += block
        self.freed_blocks += 1

    def empty_cache(self) -> None:
        """Return the reserved memory that is not used."""
        segments = (self.allocated + _SMALL_SEGMENT - 1) // _SMALL_SEGMENT * _SMALL_SEGMENT
        self.reserved = min(self.reserved, self.total, segments)

    def reset_peaks(self) -> None:
        """Set the peak numbers to the current ones."""
        self.peak_allocated, self.peak_reserved = self.allocated, self.reserved
        self.peak_requested, self.peak_blocks = self.requested, self.blocks

    def _reserve(self, nbytes: int, block: int, allocated: int) -> None:
        wanted = max(self.reserved + _segment(block), allocated)
        if wanted > self.limit:
            if allocated > self.limit:
                self.refuse(nbytes)
            wanted = self.limit
        self.reserved = wanted
        self.peak_reserved = max(self.peak_reserved, wanted)
