"""What a lab's module of checks is written with."""

from __future__ import annotations

from helpers.checks.hints import Hint, NotRight
from helpers.checks.lab import Exercise, Lab, Verdict
from helpers.checks.probes import Move, Watch
from helpers.checks.trial import CallResult, Trial

__all__ = ["CallResult", "Exercise", "Hint", "Lab", "Move", "NotRight", "Trial", "Verdict", "Watch"]
