"""Lesson 06: CIFAR-10 in seconds. Read `recipes` first, and `training` last.

`network`, `augmentation` and `optimizers` have an idea each; `training` has clock, loop and judge.
"""
