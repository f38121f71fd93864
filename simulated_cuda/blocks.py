"""The blocks of the caching allocator: their sizes, and the segments that contain them."""

from __future__ import annotations

from typing import Any

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


class Block:
    """A part of a segment; `previous` and `next` are its neighbors in the same segment.

    `used` is False until the block is placed in a segment, and after it is freed.
    """

    __slots__ = ("address", "next", "previous", "requested", "size", "small", "used")

    def __init__(self, requested: int, size: int) -> None:
        self.requested = requested
        self.size = size
        self.small = size <= SMALL
        self.used = False

    @property
    def is_split(self) -> bool:
        """Whether the segment contains other blocks."""
        return self.previous is not None or self.next is not None


def snapshot_entry(first: Block, index: int) -> dict[str, Any]:
    """Return a segment as an entry of `torch.cuda.memory_snapshot`.

    Args:
        first: the first block of the segment.
        index: the index of the device.
    """
    blocks = []
    block: Block | None = first
    while block is not None:
        state = "active_allocated" if block.used else "inactive"
        requested = block.requested if block.used else 0
        blocks.append(
            {"address": block.address, "size": block.size, "requested_size": requested,
             "state": state, "frames": []}
        )  # fmt: skip
        block = block.next
    used = [entry for entry in blocks if entry["state"] == "active_allocated"]
    return {
        "device": index,
        "address": first.address,
        "total_size": sum(entry["size"] for entry in blocks),
        "allocated_size": sum(entry["size"] for entry in used),
        "active_size": sum(entry["size"] for entry in used),
        "requested_size": sum(entry["requested_size"] for entry in used),
        "stream": 0,
        "segment_type": "small" if first.small else "large",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": [],
        "blocks": blocks,
    }
