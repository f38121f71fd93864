"""Lesson 06: CIFAR-10 in seconds. Read `recipes` first, and `training` last."""
