"""The `Lab` of lab 05, with its hints."""

from pathlib import Path

from helpers.checks.hints import read_hints
from helpers.checks.lab import Lab

lab = Lab("05_when_the_gpu_wins", read_hints(Path(__file__).parent), seconds=20)
