"""The `Lab` of lab 01, with its hints."""

from pathlib import Path

from helpers.checks.hints import read_hints
from helpers.checks.lab import Lab

lab = Lab("01_tensors_and_devices", read_hints(Path(__file__).parent))
