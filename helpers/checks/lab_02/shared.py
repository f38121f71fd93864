"""The `Lab` of lab 02, with its hints."""

from pathlib import Path

from helpers.checks.hints import read_hints
from helpers.checks.lab import Lab

lab = Lab("02_device_mismatch_errors", read_hints(Path(__file__).parent), seconds=20)
