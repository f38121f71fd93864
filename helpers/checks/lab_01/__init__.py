from helpers.checks.exercise import Lab

lab = Lab(__name__, "01_tensors_and_devices")
