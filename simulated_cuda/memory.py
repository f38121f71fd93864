"""How much of each simulated device's memory is in use, in the figures of the caching allocator.

Sizes are bytes. Only bookkeeping: the tensors themselves live in the CPU's memory.
"""

from __future__ import annotations

import re

import torch

from . import messages

# The caching allocator hands out multiples of 512 bytes, and asks the driver for whole segments:
# 2 MiB for what is at most 1 MiB, 20 MiB below 10 MiB, above that multiples of 2 MiB
# (c10/cuda/CUDACachingAllocator.cpp in PyTorch).
BLOCK = 512
_CPU_IS_FULL = re.compile(r"you tried to allocate (\d+) bytes")
_SMALL, _SMALL_SEGMENT = 1 << 20, 2 << 20
_LARGE, _LARGE_SEGMENT = 10 << 20, 20 << 20


def rounded(nbytes: int) -> int:
    """What the allocator really sets aside for `nbytes` bytes; nothing for nothing."""
    return (nbytes + BLOCK - 1) // BLOCK * BLOCK


def _segment(block: int) -> int:
    if block <= _SMALL:
        return _SMALL_SEGMENT
    if block < _LARGE:
        return _LARGE_SEGMENT
    return (block + _SMALL_SEGMENT - 1) // _SMALL_SEGMENT * _SMALL_SEGMENT


class DeviceMemory:
    """The memory of one simulated device.

    `allocated` is what living tensors hold, `reserved` what was ever asked of the device and not
    given back by `empty_cache`. Blocks are not placed: a reserved byte can be used by any tensor,
    so there is no fragmentation here.
    """

    def __init__(self, index: int, total: int) -> None:
        self.index = index
        self.total = total
        # Less than all where set_per_process_memory_fraction was called.
        self.limit = total
        self.allocated = self.reserved = self.requested = 0
        self.peak_allocated = self.peak_reserved = self.peak_requested = 0
        self.blocks = self.peak_blocks = 0
        self.freed_bytes = self.freed_blocks = self.out_of_memory_errors = 0

    def claim(self, nbytes: int) -> None:
        """Count `nbytes` more bytes as used, or raise `torch.OutOfMemoryError`."""
        block = (nbytes + 511) // 512 * 512
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
        """Raise `torch.OutOfMemoryError` where `nbytes` bytes more would not fit; count nothing."""
        if self.allocated + rounded(nbytes) > self.limit:
            self.refuse(nbytes)

    def refuse(self, nbytes: int) -> None:
        """Raise the `torch.OutOfMemoryError` that asking for `nbytes` bytes gives."""
        self.out_of_memory_errors += 1
        # The allocator gives back what it does not use before it gives up.
        self.empty_cache()
        raise torch.OutOfMemoryError(
            messages.out_of_memory(
                nbytes, self.index, self.total, self.total - self.reserved, self.allocated,
                self.reserved - self.allocated,
            )
        )  # fmt: skip

    def explain_failed_allocation(self, error: RuntimeError) -> None:
        """Raise the device's error in the place of the CPU's, where it had no memory either."""
        wanted = _CPU_IS_FULL.search(str(error))
        if wanted:
            self.refuse(int(wanted[1]))

    def release(self, nbytes: int) -> None:
        """Count `nbytes` bytes as free again; they stay reserved, as with the real allocator."""
        block = (nbytes + 511) // 512 * 512
        self.allocated -= block
        self.requested -= nbytes
        self.blocks -= 1
        self.freed_bytes += block
        self.freed_blocks += 1

    def empty_cache(self) -> None:
        """Give back what is reserved and not used."""
        segments = (self.allocated + _SMALL_SEGMENT - 1) // _SMALL_SEGMENT * _SMALL_SEGMENT
        self.reserved = min(self.reserved, self.total, segments)

    def reset_peaks(self) -> None:
        """Start the peak figures again from what is in use now."""
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
