"""The checks of lab 04, CIFAR-10 on a GPU: one module per exercise."""

from helpers.checks.exercise import Lab

lab = Lab(__name__, "04_cifar10_on_gpu", seconds=20)
