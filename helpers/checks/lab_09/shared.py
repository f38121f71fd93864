"""The `Lab` of lab 09, with its hints."""

from pathlib import Path

from helpers.checks.hints import read_hints
from helpers.checks.lab import Lab

lab = Lab("09_more_than_one_gpu", read_hints(Path(__file__).parent))
