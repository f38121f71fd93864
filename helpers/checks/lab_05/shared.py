"""Lab 05, when the GPU wins: what its exercises have in common."""

from __future__ import annotations

from helpers.checks.core import Lab

STOPWATCH = "A stopwatch that lies"
LARGER = "Larger batches"

lab = Lab("05_when_the_gpu_wins", seconds=20)
