"""The checks of lab 07, what fills GPU memory: one module per exercise."""

from helpers.checks.exercise import Lab

lab = Lab(__name__, "07_what_fills_gpu_memory", seconds=30)
