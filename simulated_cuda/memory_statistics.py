"""The statistics of `torch.cuda.memory_stats`: current, peak, allocated and freed, per pool."""

from __future__ import annotations


class Statistic:
    """One metric of an allocator, such as the allocated bytes.

    Each property has three values: for the large pool, the small pool, and both pools together.
    """

    __slots__ = ("_at_reset", "_current", "_freed", "_peak", "_rising")

    def __init__(self) -> None:
        self._current, self._freed, self._at_reset = [0, 0], [0, 0], [0, 0]
        self._peak = [0, 0, 0]
        # Values change with every tensor, so the peak is updated only before a value decreases.
        self._rising = False

    def add(self, small: int, change: int) -> None:
        """Add `change` to the current value of a pool; `small` is 1 for the small pool."""
        if change < 0:
            if self._rising:
                self._note_peak()
            self._freed[small] -= change
        else:
            self._rising = True
        self._current[small] += change

    def set_to(self, small: int, value: int) -> None:
        """Set the current value of a pool."""
        self.add(small, value - self._current[small])

    def _note_peak(self) -> None:
        large, small = self._current
        self._peak[:] = (
            max(self._peak[0], large), max(self._peak[1], small), max(self._peak[2], large + small)
        )  # fmt: skip
        self._rising = False

    @property
    def current(self) -> list[int]:
        """The current values."""
        return _with_sum(self._current)

    @property
    def peak(self) -> list[int]:
        """The largest values since the start or the last `reset_peak`."""
        self._note_peak()
        return self._peak

    @property
    def freed(self) -> list[int]:
        """The sum of all decreases."""
        return _with_sum(self._freed)

    @property
    def allocated(self) -> list[int]:
        """The sum of all increases."""
        values = zip(self._current, self._freed, self._at_reset, strict=True)
        return _with_sum([now + freed - before for now, freed, before in values])

    def reset_peak(self) -> None:
        """Reset the peak to the current values."""
        self._peak = self.current

    def reset_accumulated(self) -> None:
        """Set the sums of increases and decreases to zero."""
        self._freed, self._at_reset = [0, 0], list(self._current)


def _with_sum(pools: list[int]) -> list[int]:
    return [*pools, sum(pools)]
