"""The checks of lab 01, tensors and devices: one module per exercise."""

from helpers.checks.exercise import Lab

lab = Lab(__name__, "01_tensors_and_devices")
