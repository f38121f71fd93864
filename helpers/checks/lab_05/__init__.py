from helpers.checks.exercise import Lab

lab = Lab(__name__, "05_when_the_gpu_wins", seconds=20)
