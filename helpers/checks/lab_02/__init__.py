from helpers.checks.exercise import Lab

lab = Lab(__name__, "02_device_mismatch_errors")
