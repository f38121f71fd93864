from helpers.checks.exercise import Lab

lab = Lab(__name__, "07_what_fills_gpu_memory", seconds=30)
