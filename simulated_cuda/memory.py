"""The memory of each simulated device, managed by the rules of PyTorch's caching allocator.

Only sizes and addresses are tracked; the data of the tensors is in CPU memory. All sizes are in
bytes. The rules follow c10/cuda/CUDACachingAllocator.cpp with default settings and one stream.
"""

import _signal  # faster than `signal`
import re
import threading
import weakref
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from operator import sub
from typing import Any

import torch

from . import messages

_CPU_OUT_OF_MEMORY = re.compile(r"you tried to allocate (\d+) bytes")

_BLOCK_METRICS = ("allocated_bytes", "requested_bytes", "allocation")
METRICS = (*_BLOCK_METRICS, "reserved_bytes", "segment", "inactive_split_bytes", "inactive_split")
_INTERRUPTS = {_signal.SIGINT, getattr(_signal, "SIGALRM", _signal.SIGINT)}
# The number of pending blocks that triggers `_process`.
_MAX_PENDING = 1024
# The size of a block is a multiple of 512 bytes. Blocks are parts of segments, which the allocator
# requests from the driver. A segment has 2 MiB for blocks up to 1 MiB (the small pool), 20 MiB for
# blocks below 10 MiB, and a multiple of 2 MiB for larger blocks.
BLOCK = 512
SMALL, _SMALL_SEGMENT = 1 << 20, 2 << 20
_LARGE, _LARGE_SEGMENT = 10 << 20, 20 << 20


def block_size(nbytes: int) -> int:
    """Return the size of the block that the allocator uses for `nbytes` bytes."""
    return (nbytes + BLOCK - 1) // BLOCK * BLOCK


def segment_size(block: int) -> int:
    """Return the size of the segment that is requested from the driver for a block."""
    if block <= SMALL:
        return _SMALL_SEGMENT
    if block < _LARGE:
        return _LARGE_SEGMENT
    return (block + _SMALL_SEGMENT - 1) // _SMALL_SEGMENT * _SMALL_SEGMENT


class DeviceTag:
    """The device of a storage: `index` is the index of the simulated device, or -1 for the CPU.

    `is_set` is False for the default tag, which every storage has until its device is set.
    `guessed` is True if the device was set during a backward pass. Autograd may then pass the same
    gradient from one device to another without a copy, since all data is on the CPU, so the device
    that was set last is correct.
    """

    # `estimate` sets `is_protected` of what it must not write to, `from_host` of what it moved.
    is_protected = from_host = pinned = False
    is_set = True

    def __init__(self, index: int, memory: Any = None, guessed: bool = False) -> None:
        self.index, self.memory, self.guessed, self.nbytes = index, memory, guessed, 0


class Block(DeviceTag, weakref.ref):
    """A part of a segment, the tag of its storage, and a reference to it, whose end frees it.

    `previous` and `next` are its neighbors in the same segment. `used` is False until the block is
    placed in a segment, and None if it does not fit and after it is freed.
    """

    __slots__ = (
        "address", "guessed", "index", "memory", "nbytes", "next", "previous", "size", "small",
        "used",
    )  # fmt: skip
    __init__ = weakref.ref.__init__

    @property
    def is_split(self) -> bool:
        """Whether the segment contains other blocks."""
        return self.previous is not None or self.next is not None


def snapshot_entry(first: Block, index: int) -> dict[str, Any]:
    """Return a segment as an entry of `torch.cuda.memory_snapshot`; `first` is its first block."""
    blocks = []
    block: Block | None = first
    while block is not None:
        blocks.append({
            "address": block.address, "size": block.size, "frames": [],
            "requested_size": block.nbytes if block.used else 0,
            "state": "active_allocated" if block.used else "inactive",
        })  # fmt: skip
        block = block.next
    used = [entry for entry in blocks if entry["state"] == "active_allocated"]
    size = sum(entry["size"] for entry in used)
    return {
        "device": index, "address": first.address, "stream": 0, "segment_pool_id": (0, 0),
        "segment_type": "small" if first.small else "large", "is_expandable": False, "frames": [],
        "total_size": sum(entry["size"] for entry in blocks), "allocated_size": size,
        "active_size": size, "requested_size": sum(entry["requested_size"] for entry in used),
        "blocks": blocks,
    }  # fmt: skip


class Statistic:
    """One metric of an allocator, such as bytes: of the large pool, the small pool, and both."""

    __slots__ = ("added", "at_reset", "peak", "removed")

    def __init__(self) -> None:
        # The sums of all increases and decreases of both pools, now and at the last reset.
        self.added, self.removed, self.at_reset = [0, 0], [0, 0], ([0, 0], [0, 0])
        # The largest values since the start or the last `reset_peak`.
        self.peak = [0, 0, 0]

    def add(self, small: int, change: int) -> None:
        """Add `change` to the current value of a pool; `small` is 1 for the small pool."""
        (self.added if change > 0 else self.removed)[small] += abs(change)
        note_peaks([self])

    @property
    def current(self) -> list[int]:
        """The current values."""
        return _difference(self.added, self.removed)

    @property
    def allocated(self) -> list[int]:
        """The sum of all increases since the last reset."""
        return _difference(self.added, self.at_reset[0])

    @property
    def freed(self) -> list[int]:
        """The sum of all decreases since the last reset."""
        return _difference(self.removed, self.at_reset[1])


def note_peaks(statistics: list[Statistic]) -> None:
    """Update the peaks, after increases and before the next decrease."""
    for statistic in statistics:
        added, removed, peak = statistic.added, statistic.removed, statistic.peak
        large, small = added[0] - removed[0], added[1] - removed[1]
        if large > peak[0] or small > peak[1] or large + small > peak[2]:
            statistic.peak = [*map(max, peak, (large, small, large + small))]


def _difference(pools: list[int], other: list[int]) -> list[int]:
    large, small = map(sub, pools, other)
    return [large, small, large + small]


@contextmanager
def _locked(lock: threading.Lock) -> Iterator[None]:
    """Hold the lock in a block that must not end halfway: Ctrl-C has its effect after the block."""
    received, active = [], [True]
    is_main = threading.get_ident() == threading.main_thread().ident
    handlers = {n: h for n in _INTERRUPTS if is_main and callable(h := _signal.getsignal(n))}
    try:
        for number in handlers:
            _signal.signal(number, lambda *a: received.append(a) if active else handlers[a[0]](*a))
        with lock:
            yield
    finally:
        active.clear()
        for number, handler in handlers.items():
            _signal.signal(number, handler)
        for arguments in received:
            handlers[arguments[0]](*arguments)


memories_in_use: weakref.WeakSet["DeviceMemory"] = weakref.WeakSet()


class DeviceMemory:
    """The memory of one simulated device: segments, their blocks, and statistics about both."""

    def __init__(self, index: int, total: int) -> None:
        self.index, self.total = index, total
        # Of all tensors on it.
        self.attributes = {
            "device": torch.device("cuda", index), "is_cuda": True, "is_cpu": False,
        }  # fmt: skip
        self.limit: int | None = None  # set by set_per_process_memory_fraction
        self.available = total
        self.statistics = {metric: Statistic() for metric in METRICS}
        self._block_statistics = [self.statistics[metric] for metric in _BLOCK_METRICS]
        self._freeing = False
        self.out_of_memory_errors = self.retries = 0
        self._segments: dict[int, Block] = {}  # the first block of each segment, by address
        # Unused blocks of the large and small pools, sorted by size and address.
        self._unused: tuple[list[tuple[int, int, Block]], ...] = ([], [])
        self._address = 0x7F0000000000
        # Requested and freed blocks, in order. Processing them in batches is several times faster
        # than after every operation. The second occurrence of a block means that it was freed.
        # A deque is needed because Python may free a tensor during `_process`.
        self._pending: deque[Block] = deque()
        # The bytes reserved, and an upper bound on those of the large blocks that are pending.
        self._reserved_at_most = 0
        self._max_pending = 0
        self._empty: weakref.WeakSet[DeviceTag] = weakref.WeakSet()  # of empty tensors
        self._lock = threading.Lock()
        memories_in_use.add(self)

    def collect(self) -> None:
        """Update the statistics. The peaks of `inactive_split` metrics are updated only here."""
        with _locked(self._lock):
            self._process()
            for small in (0, 1):
                parts = [entry[0] for entry in self._unused[small] if entry[2].is_split]
                values = {"inactive_split": len(parts), "inactive_split_bytes": sum(parts)}
                for metric, value in values.items():
                    statistic = self.statistics[metric]
                    statistic.add(small, value - statistic.current[small])

    def current(self, metric: str) -> int:
        """Return the current value of a metric, summed over both pools."""
        self.collect()
        return self.statistics[metric].current[2]

    def allocate(self, storage: torch.UntypedStorage, guessed: bool = False) -> None:
        """Set a storage's tag, and allocate its memory or raise `torch.OutOfMemoryError`."""
        nbytes, pending = storage.nbytes(), self._pending
        if nbytes == 0:
            storage.device_tag = tag = DeviceTag(self.index, self, guessed)
            self._empty.add(tag)
            return
        append = pending.append
        block = Block(storage, append)
        block.index, block.memory, block.nbytes = self.index, self, nbytes
        block.guessed, block.used = guessed, False
        append(block)
        if nbytes > SMALL:
            with self._lock:
                self._reserved_at_most += segment_size(block_size(nbytes))
                self._set_max_pending()
        if len(pending) > self._max_pending:
            # A short block is hardly ever interrupted; on a full device, each operation has one.
            with self._lock if len(pending) < 16 else _locked(self._lock):
                self._process()
        storage.device_tag = block

    def release(self, block: Block) -> None:
        """Free the block of a storage that continues to exist."""
        self.collect()  # Two entries in a row would be mistaken for its request and its end.
        self._pending.append(block)
        self.collect()

    def tags(self) -> list[DeviceTag]:
        """Return the tags of all tensors on this device."""
        self.collect()
        blocks = list(self._segments.values())
        for block in blocks:
            blocks += [] if block.next is None else [block.next]
        return [*self._empty, *(block for block in blocks if block.used)]

    def check(self, nbytes: int) -> None:
        """Raise `torch.OutOfMemoryError` if `nbytes` bytes do not fit, without allocating them."""
        size = block_size(nbytes)
        at_most = self._reserved_at_most + len(self._pending) * _SMALL_SEGMENT
        if nbytes and at_most + segment_size(size) > self.available:
            with _locked(self._lock):
                self._process()
                self._find(nbytes, size)

    def set_limit(self, limit: int | None) -> None:
        """Limit the memory, as `set_per_process_memory_fraction` does; None removes the limit."""
        self.collect()
        self.limit = limit
        self.available = self.total if limit is None else limit
        self._set_max_pending()

    def empty_cache(self) -> None:
        """Release unused segments to the device, as `torch.cuda.empty_cache` does."""
        with _locked(self._lock):
            self._process()
            self._return_unused_segments()

    def explain_failed_allocation(self, error: RuntimeError) -> None:
        """Raise CUDA's out-of-memory error if `error` is the CPU allocator's."""
        match = _CPU_OUT_OF_MEMORY.search(str(error))
        if match:
            self.collect()
            self._raise_out_of_memory(int(match[1]))

    def reset_peaks(self) -> None:
        """Reset the peak values to the current values."""
        self.collect()
        for statistic in self.statistics.values():
            statistic.peak = statistic.current

    def reset_accumulated(self) -> None:
        """Reset the counts of allocations, frees, errors and retries to zero."""
        self.collect()
        for statistic in self.statistics.values():
            statistic.at_reset = statistic.added[:], statistic.removed[:]
        self.out_of_memory_errors = self.retries = 0

    def snapshot(self) -> list[dict[str, Any]]:
        """Return all segments and their blocks, in the format of `torch.cuda.memory_snapshot`."""
        with _locked(self._lock):
            self._process()
            return [snapshot_entry(first, self.index) for first in self._segments.values()]

    def _find(self, nbytes: int, size: int) -> int:
        """Return the position of the smallest block that is large enough, perhaps a new one."""
        unused = self._unused[size <= SMALL]
        position = bisect_left(unused, (size,))
        if position == len(unused):
            self._reserve(nbytes, size)
            position = bisect_left(unused, (size,))
        return position

    def _process(self) -> None:
        """Allocate and free the pending blocks in order, and update the statistics."""
        pending, (sizes, requests, counts) = self._pending, self._block_statistics
        try:
            while pending:
                block = pending.popleft()
                # Most often, a block is freed and one of its size requested. They would all get
                # the same address, so only the last one is placed.
                repeats = 0
                while (
                    len(pending) > 1 and pending[0] is block
                    and (following := pending[1]).nbytes == block.nbytes
                    and following.used is False
                ):  # fmt: skip
                    pending.popleft()
                    block = pending.popleft()
                    repeats += 1
                if repeats:
                    size = block_size(block.nbytes)
                    for statistic, value in (sizes, size), (requests, block.nbytes), (counts, 1):
                        statistic.added[size <= SMALL] += repeats * value
                        statistic.removed[size <= SMALL] += repeats * value
                used = block.used
                if used is None:
                    continue
                if used:
                    if not self._freeing:
                        note_peaks(self._block_statistics)
                    sizes.removed[block.small] += block.size
                    requests.removed[block.small] += block.nbytes
                    counts.removed[block.small] += 1
                    self._free(block)
                else:
                    self._place(block)
                    sizes.added[block.small] += block.size
                    requests.added[block.small] += block.nbytes
                    counts.added[block.small] += 1
                self._freeing = used
        finally:
            note_peaks(self._block_statistics)
            self._reserved_at_most = self._reserved()
            self._set_max_pending()

    def _set_max_pending(self) -> None:
        free_bytes = self.available - self._reserved_at_most
        self._max_pending = min(_MAX_PENDING, free_bytes // _SMALL_SEGMENT)

    def _place(self, block: Block) -> None:
        """Allocate a block from the smallest unused block that fits, and split off the rest."""
        block.size = size = block_size(block.nbytes)
        block.small = small = size <= SMALL
        block.used = None
        unused = self._unused[small]
        position = bisect_left(unused, (size,))  # as in `_find`, whose call takes time
        if position == len(unused):
            position = self._find(block.nbytes, size)
        free_block = unused.pop(position)[2]
        block.address = address = free_block.address
        block.previous = before = free_block.previous
        remainder = free_block.size - size
        if remainder >= BLOCK if small else remainder > SMALL:
            block.next, free_block.previous = free_block, block
            free_block.address, free_block.size = address + size, remainder
            insort(unused, (remainder, free_block.address, free_block))
        else:
            block.size, block.next = free_block.size, free_block.next
            if block.next is not None:
                block.next.previous = block
        block.used = True
        if before is None:
            self._segments[address] = block
        else:
            before.next = block

    def _free(self, block: Block) -> None:
        """Mark a block as unused and merge it with unused neighbors."""
        block.used = None
        unused = self._unused[block.small]
        before, after = block.previous, block.next
        if before is not None and not before.used:
            unused.pop(bisect_left(unused, (before.size, before.address)))
            block.address = before.address
            block.size += before.size
            before = block.previous = before.previous
            if before is None:
                self._segments[block.address] = block
            else:
                before.next = block
        if after is not None and not after.used:
            unused.pop(bisect_left(unused, (after.size, after.address)))
            block.size += after.size
            after = block.next = after.next
            if after is not None:
                after.previous = block
        insort(unused, (block.size, block.address, block))

    def _reserved(self) -> int:
        return self.statistics["reserved_bytes"].current[2]

    def _reserve(self, nbytes: int, size: int) -> None:
        """Reserve a segment for a block of `size` bytes."""
        nbytes_of_segment, small = segment_size(size), size <= SMALL
        if self._reserved() + nbytes_of_segment > self.available:
            # Like PyTorch's allocator, release unused segments and retry.
            self._return_unused_segments()
            self.retries += 1
            if self._reserved() + nbytes_of_segment > self.available:
                self._raise_out_of_memory(nbytes)
        segment = Block(self)
        segment.size, segment.used = nbytes_of_segment, None
        segment.address, segment.small = self._address, small
        segment.previous = segment.next = None
        self._address += nbytes_of_segment
        self._segments[segment.address] = segment
        insort(self._unused[small], (nbytes_of_segment, segment.address, segment))
        self._count_segment(segment, 1)

    def _return_unused_segments(self) -> None:
        for unused in self._unused:
            for entry in [entry for entry in unused if not entry[2].is_split]:
                unused.remove(entry)
                del self._segments[entry[2].address]
                self._count_segment(entry[2], -1)

    def _raise_out_of_memory(self, nbytes: int) -> None:
        self.out_of_memory_errors += 1
        reserved, allocated = self._reserved(), self.statistics["allocated_bytes"].current[2]
        # PyTorch's message reports the size of the segment, not of the tensor.
        segment_bytes = segment_size(block_size(nbytes))
        raise torch.OutOfMemoryError(
            messages.out_of_memory(
                segment_bytes, self.index, self.total, self.total - reserved, allocated,
                reserved - allocated, self.limit,
            )
        )  # fmt: skip

    def _count_segment(self, segment: Block, sign: int) -> None:
        self.statistics["reserved_bytes"].add(segment.small, sign * segment.size)
        self.statistics["segment"].add(segment.small, sign)
