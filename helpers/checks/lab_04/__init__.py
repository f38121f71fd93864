from helpers.checks.exercise import Lab

lab = Lab(__name__, "04_cifar10_on_gpu", seconds=20)
