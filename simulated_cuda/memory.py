"""The memory of each simulated device, managed by the rules of PyTorch's caching allocator.

This is only accounting: the tensors themselves are in the CPU's memory. All sizes are in bytes. The
rules are those of c10/cuda/CUDACachingAllocator.cpp with its default settings, for one stream.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left, insort
from collections import deque
from typing import Any

import torch

from . import messages
from .blocks import BLOCK, SMALL, Block, described, rounded, segment_size

_CPU_IS_FULL = re.compile(r"you tried to allocate (\d+) bytes")

METRICS = (
    "allocated_bytes", "requested_bytes", "reserved_bytes", "inactive_split_bytes",
    "allocation", "segment", "inactive_split",
)  # fmt: skip


class Statistic:
    """A number with the names that `torch.cuda.memory_stats` uses.

    Each name has a list: of the large pool, of the small pool, and of both together.
    """

    __slots__ = ("allocated", "current", "freed", "peak")

    def __init__(self) -> None:
        self.current, self.peak = [0, 0, 0], [0, 0, 0]
        self.allocated, self.freed = [0, 0, 0], [0, 0, 0]

    def add(self, small: bool, change: int) -> None:
        """Change the current number of a pool. Written for speed: every tensor gets here."""
        current = self.current
        mine = current[small] = current[small] + change
        both = current[2] = current[2] + change
        if change < 0:
            freed = self.freed
            freed[small] -= change
            freed[2] -= change
            return
        allocated, peak = self.allocated, self.peak
        allocated[small] += change
        allocated[2] += change
        if mine > peak[small]:
            peak[small] = mine
        if both > peak[2]:
            peak[2] = both


class DeviceMemory:
    """The memory of one simulated device: segments, their blocks, and statistics about both."""

    def __init__(self, index: int, total: int) -> None:
        self.index = index
        self.total = total
        self.limit: int | None = None  # set by set_per_process_memory_fraction
        self.statistics = {metric: Statistic() for metric in METRICS}
        self._allocated, self._requested, self._count = (
            self.statistics[metric].add
            for metric in ("allocated_bytes", "requested_bytes", "allocation")
        )
        self.out_of_memory_errors = self.retries = 0
        self._segments: list[Block] = []  # the first block of each
        # The unused blocks of the large and of the small pool, sorted by size and address.
        self._unused: tuple[list[tuple[int, int, Block]], ...] = ([], [])
        self._address = 0x7F0000000000
        # Freed blocks that are not unused yet: Python may collect a tensor at any time, also while
        # this object changes its lists.
        self._freed: deque[Block] = deque()
        self._lock = threading.Lock()

    def collect(self) -> None:
        """Process the blocks that were freed, so that the statistics are those of now."""
        with self._lock:
            self._collect()

    def current(self, metric: str) -> int:
        """The current number of a metric, of both pools."""
        self.collect()
        return self.statistics[metric].current[2]

    def claim(self, nbytes: int) -> Block | None:
        """Allocate `nbytes` bytes, or raise `torch.OutOfMemoryError`; None for 0 bytes."""
        if nbytes == 0:
            return None
        with self._lock:
            if self._freed:
                self._collect()
            return self._take(nbytes)

    def check(self, nbytes: int) -> None:
        """Raise `torch.OutOfMemoryError` if `nbytes` bytes do not fit; allocate nothing."""
        if nbytes:
            with self._lock:
                self._collect()
                self._find(nbytes, rounded(nbytes))

    def release(self, block: Block) -> None:
        """Free a block; its memory stays reserved."""
        self._freed.append(block)

    def empty_cache(self) -> None:
        """Return the segments of which no part is used to the device."""
        with self._lock:
            self._collect()
            self._return_unused_segments()

    def explain_failed_allocation(self, error: RuntimeError) -> None:
        """Raise the device's out-of-memory error if `error` is the CPU's."""
        wanted = _CPU_IS_FULL.search(str(error))
        if wanted:
            self._refuse(int(wanted[1]))

    def reset_peaks(self) -> None:
        """Set the peak numbers to the current ones."""
        self.collect()
        for each in self.statistics.values():
            each.peak = list(each.current)

    def reset_accumulated(self) -> None:
        """Set the numbers of everything allocated and freed so far to zero."""
        self.collect()
        for each in self.statistics.values():
            each.allocated, each.freed = [0, 0, 0], [0, 0, 0]
        self.out_of_memory_errors = self.retries = 0

    def snapshot(self) -> list[dict[str, Any]]:
        """The segments and their blocks, as `torch.cuda.memory_snapshot` describes them."""
        with self._lock:
            self._collect()
            return [described(first, self.index) for first in self._segments]

    def _find(self, nbytes: int, size: int) -> int:
        """Return the position of the smallest unused block of at least `size` bytes."""
        unused = self._unused[size <= SMALL]
        position = bisect_left(unused, (size,))
        if position == len(unused):
            self._reserve(nbytes, size)
            position = bisect_left(unused, (size,))
        return position

    def _take(self, nbytes: int) -> Block:
        size = rounded(nbytes)
        small = size <= SMALL
        block = self._unused[small].pop(self._find(nbytes, size))[2]
        was_split, before, rest = block.is_split, block.size, block.size - size
        if rest >= BLOCK if small else rest > SMALL:
            other = Block(block.address + size, rest, small)
            other.previous, other.next = block, block.next
            if block.next is not None:
                block.next.previous = other
            block.next, block.size = other, size
            insort(self._unused[small], (rest, other.address, other))
            self._count_split(small, int(not was_split), rest - before if was_split else rest)
        elif was_split:
            self._count_split(small, -1, -before)
        block.used, block.requested = True, nbytes
        self._count_used(block, 1)
        return block

    def _collect(self) -> None:
        """Make the freed blocks unused, and merge them with unused neighbors."""
        while self._freed:
            block = self._freed.popleft()
            self._count_used(block, -1)
            block.used = False
            unused = self._unused[block.small]
            merged = merged_bytes = 0
            for neighbor in (block.previous, block.next):
                if neighbor is not None and not neighbor.used:
                    key = (neighbor.size, neighbor.address)
                    unused.pop(bisect_left(unused, key))
                    merged, merged_bytes = merged + 1, merged_bytes + neighbor.size
                    self._merge(block, neighbor)
            insort(unused, (block.size, block.address, block))
            is_split = block.is_split
            change = block.size - merged_bytes if is_split else -merged_bytes
            if is_split or merged:
                self._count_split(block.small, int(is_split) - merged, change)

    def _merge(self, block: Block, neighbor: Block) -> None:
        if neighbor is block.previous:
            block.address, block.previous = neighbor.address, neighbor.previous
            if block.previous is not None:
                block.previous.next = block
            else:
                self._segments[self._segments.index(neighbor)] = block
        else:
            block.next = neighbor.next
            if block.next is not None:
                block.next.previous = block
        block.size += neighbor.size

    def _reserve(self, nbytes: int, size: int) -> None:
        """Request a segment for a block of `size` bytes from the device."""
        wanted, small = segment_size(size), size <= SMALL
        reserved = self.statistics["reserved_bytes"].current
        available = self.total if self.limit is None else self.limit
        if reserved[2] + wanted > available:
            # The allocator returns unused segments to the device and tries again.
            self._return_unused_segments()
            self.retries += 1
            if reserved[2] + wanted > available:
                self._refuse(nbytes)
        segment = Block(self._address, wanted, small)
        self._address += wanted
        self._segments.append(segment)
        insort(self._unused[small], (wanted, segment.address, segment))
        self._count_segment(segment, 1)

    def _return_unused_segments(self) -> None:
        for unused in self._unused:
            for entry in [entry for entry in unused if not entry[2].is_split]:
                unused.remove(entry)
                self._segments.remove(entry[2])
                self._count_segment(entry[2], -1)

    def _refuse(self, nbytes: int) -> None:
        self.out_of_memory_errors += 1
        reserved, allocated = (
            self.statistics[metric].current[2] for metric in ("reserved_bytes", "allocated_bytes")
        )
        # The message names the size of the segment, not that of the tensor.
        wanted = segment_size(rounded(nbytes))
        raise torch.OutOfMemoryError(
            messages.out_of_memory(
                wanted, self.index, self.total, self.total - reserved, allocated,
                reserved - allocated, self.limit,
            )
        )  # fmt: skip

    def _count_used(self, block: Block, sign: int) -> None:
        self._allocated(block.small, sign * block.size)
        self._requested(block.small, sign * block.requested)
        self._count(block.small, sign)

    def _count_segment(self, segment: Block, sign: int) -> None:
        self.statistics["reserved_bytes"].add(segment.small, sign * segment.size)
        self.statistics["segment"].add(segment.small, sign)

    def _count_split(self, small: bool, blocks: int, nbytes: int) -> None:
        if blocks:
            self.statistics["inactive_split"].add(small, blocks)
        if nbytes:
            self.statistics["inactive_split_bytes"].add(small, nbytes)
