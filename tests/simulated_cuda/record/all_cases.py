"""Collects the cases of all modules of this folder."""

from __future__ import annotations

from tests.simulated_cuda.record import (
    loads_and_memory,
    mixes,
    mixes_in_networks,
    moves,
    near_misses,
)
from tests.simulated_cuda.record.cases import Case


def all_cases() -> tuple[Case, ...]:
    """Return all cases, in the order of the files that define them."""
    return (
        *mixes.CASES,
        *mixes_in_networks.CASES,
        *near_misses.CASES,
        *moves.CASES,
        *loads_and_memory.CASES,
    )
