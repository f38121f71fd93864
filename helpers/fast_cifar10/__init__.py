"""Lesson 06: CIFAR-10 in seconds. `network` has the network, `training` all that trains it."""
