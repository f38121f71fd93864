"""The `Lab` of lab 08, with its hints."""

from pathlib import Path

from helpers.checks.hints import read_hints
from helpers.checks.lab import Lab

lab = Lab("08_mixed_precision_and_profiling", read_hints(Path(__file__).parent), seconds=20)
