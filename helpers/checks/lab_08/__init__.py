"""The checks of lab 08, mixed precision and profiling: one module per exercise."""

from helpers.checks.exercise import Lab

lab = Lab(__name__, "08_mixed_precision_and_profiling")
