"""The checks of lab 02, device-mismatch errors: one module per exercise."""

from helpers.checks.exercise import Lab

lab = Lab(__name__, "02_device_mismatch_errors")
