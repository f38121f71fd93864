from helpers.checks.exercise import Lab

lab = Lab(__name__, "09_more_than_one_gpu")
