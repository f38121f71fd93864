from helpers.checks.exercise import Lab

lab = Lab(__name__, "08_mixed_precision_and_profiling")
